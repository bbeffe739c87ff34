import type { MiddlewareHandler } from "hono";
import type { Keys } from "../app/keys.ts";
import type { Principal } from "../app/principal.ts";
import { AuthenticationError, PermissionError } from "../core/errors.ts";
import type { AppContext, AppEnv } from "./context.ts";

const READ_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD"]);

/**
 * Lets in who holds a key, sent as `Authorization: Bearer` (what the official client does) or as
 * `x-api-key`, and tells the workspace to the principal.
 */
export function authenticate(keys: Pick<Keys, "authenticate">): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const principal = await keys.authenticate(presentedKey(c));
    if (principal === undefined) throw new AuthenticationError("invalid API key");
    c.header("anthropic-workspace-id", principal.workspaceId);
    assertWorkspace(c, principal);
    if (principal.role === "read_only" && !READ_METHODS.has(c.req.method)) {
      throw new PermissionError("this API key may only read");
    }
    c.set("principal", principal);
    await next();
  };
}

/** The key that the request holds, whether or not it opens anything. Rejects where there is none. */
export function presentedKey(c: AppContext): string {
  const authorization = c.req.header("authorization");
  const bearer = /^Bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];
  const apiKey = c.req.header("x-api-key")?.trim();
  if (authorization !== undefined && bearer === undefined) {
    throw new AuthenticationError("the authorization header is not of the form `Bearer <key>`");
  }
  if (bearer !== undefined && apiKey !== undefined && bearer !== apiKey) {
    throw new AuthenticationError("authorization and x-api-key hold different keys: send one");
  }
  const key = bearer ?? apiKey;
  if (key === undefined || key === "") {
    throw new AuthenticationError("an API key is required: send `Authorization: Bearer <key>`");
  }
  return key;
}

function assertWorkspace(c: AppContext, principal: Principal): void {
  const wanted = c.req.header("anthropic-workspace-id");
  if (wanted !== undefined && wanted !== "" && wanted !== principal.workspaceId) {
    throw new PermissionError("this API key does not belong to the workspace that was asked for");
  }
}
