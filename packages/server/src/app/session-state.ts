import type { SessionKey } from "../core/ports/event-log.ts";
import type { StoreTransaction } from "../core/ports/store.ts";
import { stateOf } from "../core/session/checkpoint.ts";
import { fold } from "../core/session/fold.ts";
import type { SessionState } from "../core/session/state.ts";

const PAGE_EVENTS = 1_000;

/**
 * The control state at this moment of the transaction, from the checkpoint on: a few dozen events as a
 * rule, the whole log once after an upgrade that changed the fold.
 */
export async function readState(tx: StoreTransaction, key: SessionKey): Promise<SessionState> {
  let state = stateOf(await tx.sessions.findCheckpoint(key));
  for (;;) {
    const page = await tx.events.getEvents(key, { after: state.seq, limit: PAGE_EVENTS });
    if (page.length === 0) return state;
    state = fold(page, state);
  }
}

/** True if the session, which is idle, is so only until its client has answered a call. */
export async function isBlocked(tx: StoreTransaction, key: SessionKey): Promise<boolean> {
  const types = ["session.status_idle"] as const;
  const [last] = await tx.events.getEvents(key, { types, order: "desc", limit: 1 });
  return last?.type === "session.status_idle" && last.public.stop_reason.type === "requires_action";
}
