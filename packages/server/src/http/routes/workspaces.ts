import {
  ApiKeyCreateParams,
  ApiKeyListQuery,
  ApiKeyQuery,
  PageQuery,
  WorkspaceCreateParams,
} from "@drover/api";
import { Hono } from "hono";
import { type Keys, listKeys } from "../../app/keys.ts";
import type { Cursors } from "../../app/pagination.ts";
import type { Workspaces } from "../../app/workspaces.ts";
import type { Store } from "../../core/ports/store.ts";
import { readEmpty, readJson } from "../body.ts";
import type { AppEnv } from "../context.ts";
import type { Write } from "../once.ts";
import { parseQuery, refuseQuery } from "../parse.ts";

interface Options {
  readonly workspaces: Workspaces;
  readonly keys: Keys;
  readonly store: Store;
  readonly cursors: Cursors;
  readonly write: Write;
}

export function workspaceRoutes(options: Options): Hono<AppEnv> {
  const { workspaces, keys, store, write } = options;
  return new Hono<AppEnv>()
    .post("/v1/drover/workspaces", async (c) => {
      refuseQuery(c);
      const { value, bytes } = await readJson(c, WorkspaceCreateParams);
      return await write(c, (tx) => workspaces.create(tx, c.get("principal"), value), bytes);
    })
    .get("/v1/drover/workspaces", async (c) =>
      c.json(await workspaces.list(c.get("principal"), parseQuery(c, PageQuery))),
    )
    .get("/v1/drover/workspaces/:workspace_id", async (c) => {
      refuseQuery(c);
      return c.json(await workspaces.retrieve(c.get("principal"), c.req.param("workspace_id")));
    })
    .post("/v1/drover/api_keys", async (c) => {
      refuseQuery(c);
      const { value } = await readJson(c, ApiKeyCreateParams);
      // Its answer is not kept for retries, for it holds the key; a retry makes another one.
      const made = await store.write((tx) => keys.create(tx, c.get("principal"), value));
      return c.json({ ...made.apiKey, key: made.key.reveal() });
    })
    .get("/v1/drover/api_keys", async (c) =>
      c.json(await listKeys(options, c.get("principal"), parseQuery(c, ApiKeyListQuery))),
    )
    .post("/v1/drover/api_keys/:api_key_id/revoke", async (c) => {
      const { workspace_id } = parseQuery(c, ApiKeyQuery);
      await readEmpty(c);
      const id = c.req.param("api_key_id");
      const revoke = { id, workspaceId: workspace_id };
      return await write(c, (tx) => keys.revoke(tx, c.get("principal"), revoke), undefined);
    });
}
