import {
  EnvironmentCreateParams,
  EnvironmentListQuery,
  EnvironmentUpdateParams,
} from "@drover/api";
import { Hono } from "hono";
import type { Environments } from "../../app/environments.ts";
import { readEmpty, readJson } from "../body.ts";
import type { AppEnv } from "../context.ts";
import type { Write } from "../once.ts";
import { parseQuery, refuseQuery } from "../parse.ts";

interface Options {
  readonly environments: Environments;
  readonly write: Write;
}

export function environmentRoutes({ environments, write }: Options): Hono<AppEnv> {
  return new Hono<AppEnv>()
    .post("/v1/environments", async (c) => {
      refuseQuery(c);
      const { value, bytes } = await readJson(c, EnvironmentCreateParams);
      return await write(c, (tx) => environments.create(tx, c.get("principal"), value), bytes);
    })
    .get("/v1/environments", async (c) => {
      const query = parseQuery(c, EnvironmentListQuery);
      return c.json(await environments.list(c.get("principal").workspaceId, query));
    })
    .get("/v1/environments/:id", async (c) => {
      refuseQuery(c);
      const { workspaceId } = c.get("principal");
      return c.json(await environments.retrieve(workspaceId, c.req.param("id")));
    })
    .post("/v1/environments/:id", async (c) => {
      refuseQuery(c);
      const id = c.req.param("id");
      const { value, bytes } = await readJson(c, EnvironmentUpdateParams);
      return await write(c, (tx) => environments.update(tx, c.get("principal"), id, value), bytes);
    })
    .delete("/v1/environments/:id", async (c) => {
      refuseQuery(c);
      const id = c.req.param("id");
      return await write(c, (tx) => environments.delete(tx, c.get("principal"), id), undefined);
    })
    .post("/v1/environments/:id/archive", async (c) => {
      refuseQuery(c);
      await readEmpty(c);
      const id = c.req.param("id");
      return await write(c, (tx) => environments.archive(tx, c.get("principal"), id), undefined);
    });
}
