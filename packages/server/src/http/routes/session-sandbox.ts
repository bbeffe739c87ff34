import { Hono } from "hono";
import { getSessionSandbox } from "../../app/session-sandbox.ts";
import type { Store } from "../../core/ports/store.ts";
import type { AppEnv } from "../context.ts";
import { sessionKey } from "../keys.ts";
import { refuseQuery } from "../parse.ts";

/** What a session's last sandbox was made as: Drover's own, beyond the contract. */
export function sessionSandboxRoutes({ store }: { readonly store: Store }): Hono<AppEnv> {
  return new Hono<AppEnv>().get("/v1/drover/sessions/:session_id/sandbox", async (c) => {
    refuseQuery(c);
    return c.json(await getSessionSandbox(store, sessionKey(c)));
  });
}
