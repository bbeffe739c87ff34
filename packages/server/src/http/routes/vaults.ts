import { VaultCreateParams, VaultListQuery, VaultUpdateParams } from "@drover/api";
import { Hono } from "hono";
import type { Vaults } from "../../app/vaults.ts";
import { readEmpty, readJson } from "../body.ts";
import type { AppEnv } from "../context.ts";
import type { Write } from "../once.ts";
import { parseQuery, refuseQuery } from "../parse.ts";

interface Options {
  readonly vaults: Vaults;
  readonly write: Write;
}

export function vaultRoutes({ vaults, write }: Options): Hono<AppEnv> {
  return new Hono<AppEnv>()
    .post("/v1/vaults", async (c) => {
      refuseQuery(c);
      const { value, bytes } = await readJson(c, VaultCreateParams);
      return await write(c, (tx) => vaults.create(tx, c.get("principal"), value), bytes);
    })
    .get("/v1/vaults", async (c) => {
      const query = parseQuery(c, VaultListQuery);
      return c.json(await vaults.list(c.get("principal").workspaceId, query));
    })
    .get("/v1/vaults/:id", async (c) => {
      refuseQuery(c);
      return c.json(await vaults.retrieve(c.get("principal").workspaceId, c.req.param("id")));
    })
    .post("/v1/vaults/:id", async (c) => {
      refuseQuery(c);
      const id = c.req.param("id");
      const { value, bytes } = await readJson(c, VaultUpdateParams);
      return await write(c, (tx) => vaults.update(tx, c.get("principal"), id, value), bytes);
    })
    .delete("/v1/vaults/:id", async (c) => {
      refuseQuery(c);
      const id = c.req.param("id");
      return await write(c, (tx) => vaults.delete(tx, c.get("principal"), id), undefined);
    })
    .post("/v1/vaults/:id/archive", async (c) => {
      refuseQuery(c);
      await readEmpty(c);
      const id = c.req.param("id");
      return await write(c, (tx) => vaults.archive(tx, c.get("principal"), id), undefined);
    });
}
