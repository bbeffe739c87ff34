import {
  MemoryCreateParams,
  MemoryDeleteQuery,
  MemoryListQuery,
  MemoryUpdateParams,
  MemoryVersionListQuery,
  MemoryViewQuery,
} from "@drover/api";
import { Hono } from "hono";
import type { Memories } from "../../app/memories.ts";
import type { MemoryVersions } from "../../app/memory-versions.ts";
import type { MemoryStoreKey } from "../../core/ports/memory-stores.ts";
import { readEmpty, readJson } from "../body.ts";
import type { AppContext, AppEnv } from "../context.ts";
import type { Write } from "../once.ts";
import { parseQuery, refuseQuery } from "../parse.ts";

interface Options {
  readonly memories: Memories;
  readonly memoryVersions: MemoryVersions;
  readonly write: Write;
}

const MEMORIES = "/v1/memory_stores/:store/memories";
const MEMORY = "/v1/memory_stores/:store/memories/:id";
const VERSIONS = "/v1/memory_stores/:store/memory_versions";

export function memoryRoutes(options: Options): Hono<AppEnv> {
  const { memories, write } = options;
  return (
    new Hono<AppEnv>()
      .post(MEMORIES, async (c) => {
        const { view = "basic" } = parseQuery(c, MemoryViewQuery);
        const { value, bytes } = await readJson(c, MemoryCreateParams);
        const { storeId } = keyOf(c, c.req.param("store"));
        const params = { ...value, view };
        return await write(
          c,
          (tx) => memories.create(tx, c.get("principal"), storeId, params),
          bytes,
        );
      })
      .get(MEMORIES, async (c) => {
        const query = parseQuery(c, MemoryListQuery);
        return c.json(await memories.list(keyOf(c, c.req.param("store")), query));
      })
      .get(MEMORY, async (c) => {
        const { view = "full" } = parseQuery(c, MemoryViewQuery);
        const key = keyOf(c, c.req.param("store"));
        return c.json(await memories.retrieve(key, c.req.param("id"), view));
      })
      // The official client posts; the hosted service's documents show PATCH.
      .on(["POST", "PATCH"], MEMORY, async (c) => {
        const { view = "basic" } = parseQuery(c, MemoryViewQuery);
        const { value, bytes } = await readJson(c, MemoryUpdateParams);
        const at = { storeId: c.req.param("store"), id: c.req.param("id") };
        const params = { ...value, view };
        return await write(c, (tx) => memories.update(tx, c.get("principal"), at, params), bytes);
      })
      .delete(MEMORY, async (c) => {
        const query = parseQuery(c, MemoryDeleteQuery);
        const at = { storeId: c.req.param("store"), id: c.req.param("id") };
        return await write(
          c,
          (tx) => memories.delete(tx, c.get("principal"), at, query),
          undefined,
        );
      })
      .route("/", versionRoutes(options))
  );
}

function versionRoutes({ memoryVersions, write }: Options): Hono<AppEnv> {
  return new Hono<AppEnv>()
    .get(VERSIONS, async (c) => {
      const query = parseQuery(c, MemoryVersionListQuery);
      return c.json(await memoryVersions.list(keyOf(c, c.req.param("store")), query));
    })
    .get(`${VERSIONS}/:id`, async (c) => {
      const { view = "full" } = parseQuery(c, MemoryViewQuery);
      const key = keyOf(c, c.req.param("store"));
      return c.json(await memoryVersions.retrieve(key, c.req.param("id"), view));
    })
    .post(`${VERSIONS}/:id/redact`, async (c) => {
      refuseQuery(c);
      await readEmpty(c);
      const at = { storeId: c.req.param("store"), id: c.req.param("id") };
      return await write(c, (tx) => memoryVersions.redact(tx, c.get("principal"), at), undefined);
    });
}

function keyOf(c: AppContext, storeId: string): MemoryStoreKey {
  return { workspaceId: c.get("principal").workspaceId, storeId };
}
