import type { MiddlewareHandler } from "hono";
import type { AppEnv } from "./context.ts";
import { respondNotFound } from "./errors.ts";

/** No id holds a NUL, and no database takes one: whatever such a path names is not here. */
export function refuseNul(): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    if (/%00|\0/.test(c.req.path)) return respondNotFound(c);
    await next();
    return;
  };
}
