import {
  MemoryStoreCreateParams,
  MemoryStoreListQuery,
  MemoryStoreUpdateParams,
} from "@drover/api";
import { Hono } from "hono";
import type { MemoryStores } from "../../app/memory-stores.ts";
import { readEmpty, readJson } from "../body.ts";
import type { AppEnv } from "../context.ts";
import type { Write } from "../once.ts";
import { parseQuery, refuseQuery } from "../parse.ts";
import { refuseBetasTogether } from "../versions.ts";

interface Options {
  readonly memoryStores: MemoryStores;
  readonly write: Write;
}

export function memoryStoreRoutes({ memoryStores, write }: Options): Hono<AppEnv> {
  return new Hono<AppEnv>()
    .use("/v1/memory_stores/*", refuseBetasTogether())
    .post("/v1/memory_stores", async (c) => {
      refuseQuery(c);
      const { value, bytes } = await readJson(c, MemoryStoreCreateParams);
      return await write(c, (tx) => memoryStores.create(tx, c.get("principal"), value), bytes);
    })
    .get("/v1/memory_stores", async (c) => {
      const query = parseQuery(c, MemoryStoreListQuery);
      return c.json(await memoryStores.list(c.get("principal").workspaceId, query));
    })
    .get("/v1/memory_stores/:id", async (c) => {
      refuseQuery(c);
      const { workspaceId } = c.get("principal");
      return c.json(await memoryStores.retrieve(workspaceId, c.req.param("id")));
    })
    .post("/v1/memory_stores/:id", async (c) => {
      refuseQuery(c);
      const id = c.req.param("id");
      const { value, bytes } = await readJson(c, MemoryStoreUpdateParams);
      return await write(c, (tx) => memoryStores.update(tx, c.get("principal"), id, value), bytes);
    })
    .delete("/v1/memory_stores/:id", async (c) => {
      refuseQuery(c);
      const id = c.req.param("id");
      return await write(c, (tx) => memoryStores.delete(tx, c.get("principal"), id), undefined);
    })
    .post("/v1/memory_stores/:id/archive", async (c) => {
      refuseQuery(c);
      await readEmpty(c);
      const id = c.req.param("id");
      return await write(c, (tx) => memoryStores.archive(tx, c.get("principal"), id), undefined);
    });
}
