import { PageQuery } from "@drover/api";
import { Hono } from "hono";
import type { Cursors } from "../../app/pagination.ts";
import { listEgress } from "../../app/session-egress.ts";
import type { Store } from "../../core/ports/store.ts";
import type { AppEnv } from "../context.ts";
import { sessionKey } from "../keys.ts";
import { parseQuery } from "../parse.ts";

interface Options {
  readonly store: Store;
  readonly cursors: Cursors;
}

/** What sandboxes did over the network: Drover's own, beyond the contract. */
export function sessionEgressRoutes(options: Options): Hono<AppEnv> {
  return new Hono<AppEnv>().get("/v1/drover/sessions/:session_id/egress", async (c) => {
    const query = parseQuery(c, PageQuery);
    return c.json(await listEgress(options, { key: sessionKey(c), query }));
  });
}
