import type { SessionKey } from "../core/ports/event-log.ts";
import type { AppContext } from "./context.ts";

/** The session that the path names, within the caller's own workspace. */
export function sessionKey(c: AppContext): SessionKey {
  return {
    workspaceId: c.get("principal").workspaceId,
    sessionId: c.req.param("session_id") ?? "",
  };
}
