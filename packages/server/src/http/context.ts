import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import type { Principal } from "../app/principal.ts";

/** Hono's environment: Node's own request and response are absent under `app.request(…)`. */
export interface AppEnv {
  Bindings: Partial<HttpBindings>;
  Variables: { requestId: string; principal: Principal };
}

export type AppContext = Context<AppEnv>;

/** One line an event, fields not prose; pino's loggers fit. */
export interface HttpLog {
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}
