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

/** Either opens the endpoints of memory; the hosted service refuses both at once. */
const MEMORY_BETAS = ["agent-memory-2026-07-22", "managed-agents-2026-04-01"];

/** Refuses a request to an endpoint of memory that names both betas it may be asked for with. */
export function refuseBetasTogether(): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const named = (c.req.header("anthropic-beta") ?? "").split(",").map((name) => name.trim());
    if (MEMORY_BETAS.every((beta) => named.includes(beta))) {
      throw new InvalidRequestError(`anthropic-beta: send one of ${MEMORY_BETAS.join(" and ")}`);
    }
    await next();
  };
}
