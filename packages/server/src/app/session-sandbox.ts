import type { SessionSandbox } from "@drover/api";
import { NotFoundError } from "../core/errors.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { Store } from "../core/ports/store.ts";
import { getSessionRecord } from "./sessions-wire.ts";

/**
 * What the session's last sandbox was made as, also where it is gone by now. Rejects with `NotFoundError` for a
 * session that has had none: what its log has from before it was forked is another one's.
 */
export async function getSessionSandbox(store: Store, key: SessionKey): Promise<SessionSandbox> {
  await getSessionRecord(store.sessions, key);
  const [event] = await store.events.getEvents(key, {
    types: ["drover.sandbox_started", "drover.forked"],
    order: "desc",
    limit: 1,
  });
  if (event?.type !== "drover.sandbox_started") {
    throw new NotFoundError(`session ${key.sessionId} has had no sandbox yet`);
  }
  const { call_id, facts } = event.private;
  return {
    type: "session_sandbox",
    ...facts,
    tool_use_id: call_id,
    processed_at: event.processed_at,
  };
}
