import { ModelListQuery } from "@drover/api";
import { Hono } from "hono";
import type { Models } from "../../app/models.ts";
import type { AppEnv } from "../context.ts";
import { parseQuery, refuseQuery } from "../parse.ts";

export function modelRoutes({ models }: { models: Models }): Hono<AppEnv> {
  return new Hono<AppEnv>()
    .get("/v1/models", (c) => c.json(models.list(parseQuery(c, ModelListQuery))))
    .get("/v1/models/:id", (c) => {
      refuseQuery(c);
      return c.json(models.retrieve(c.req.param("id")));
    });
}
