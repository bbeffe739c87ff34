import * as api from "@drover/api";
import { Hono } from "hono";
import { VERSION } from "../../lib/version.ts";
import type { AppEnv } from "../context.ts";

/** The contract as a document, for whoever asks. Written when it is first asked for. */
export function openApiRoutes(): Hono<AppEnv> {
  let text: string | undefined;
  return new Hono<AppEnv>().get("/openapi.json", (c) => {
    text ??= JSON.stringify(
      api.openApiDocument({ operations: api.OPERATIONS, schemas: api, version: VERSION }),
    );
    return c.body(text, 200, { "content-type": "application/json" });
  });
}
