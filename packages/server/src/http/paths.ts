import type { MiddlewareHandler } from "hono";
import type { AppEnv } from "./context.ts";
import { respondNotFound } from "./errors.ts";

/**
 * Answers 404 to paths that name nothing: no id holds a NUL, and no database takes one. A segment `.` or
 * `..`, however it is written, would make another path of it: a client that puts such an id into one must
 * not change the parent of what it means.
 */
export function refuseOddPaths(): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    // What the app sees is resolved already.
    const sent = c.env?.incoming?.url?.split("?")[0] ?? c.req.path;
    if (/%00|\0/.test(sent) || sent.split(/[/\\]/).some(isDots)) return respondNotFound(c);
    await next();
    return;
  };
}

function isDots(segment: string): boolean {
  return /^(?:\.|%2e){1,2}$/i.test(segment);
}
