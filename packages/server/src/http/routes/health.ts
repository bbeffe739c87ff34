import { Hono } from "hono";
import type { Store } from "../../core/ports/store.ts";
import type { AppContext, AppEnv } from "../context.ts";

/** Without a key: for those who watch the process. The sentence says why the store cannot write. */
export function healthRoutes(store: Store, shutdown: AbortSignal): Hono<AppEnv> {
  const respond = (c: AppContext, failure: string | undefined) =>
    failure === undefined
      ? c.json({ status: "ok" })
      : c.json({ status: "unavailable", message: failure }, 503);
  return new Hono<AppEnv>()
    .get("/health", (c) => respond(c, store.failure()))
    .get("/ready", (c) =>
      respond(c, shutdown.aborted ? "the server is shutting down" : store.failure()),
    );
}
