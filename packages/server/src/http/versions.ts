import type { MiddlewareHandler } from "hono";
import { InvalidRequestError } from "../core/errors.ts";
import type { AppEnv } from "./context.ts";

/** 2023-06-01 is what raw callers and older clients send; the official client 1.14 sends the other. */
const VERSIONS: ReadonlySet<string> = new Set(["2023-06-01", "2026-10-21"]);

/**
 * Refuses versions of the API that this server does not speak. No version and no beta header at all
 * are accepted; so are beta names unknown here, which clients add freely.
 */
export function checkVersion(): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const version = c.req.header("anthropic-version");
    if (version !== undefined && !VERSIONS.has(version)) {
      throw new InvalidRequestError(
        `anthropic-version: ${version.slice(0, 40)} is not supported; send one of ${[...VERSIONS].join(", ")}`,
      );
    }
    await next();
  };
}
