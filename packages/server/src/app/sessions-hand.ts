import type { SessionHand, SessionHandPassParams } from "@drover/api";
import { ConflictError, InvalidRequestError } from "../core/errors.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import { isAhead } from "../core/ports/hand-records.ts";
import type { SessionRecord } from "../core/ports/sessions.ts";
import type { Store, StoreTransaction } from "../core/ports/store.ts";
import type { EventBodies, EventDraft } from "../core/session/log-event.ts";
import { newId } from "../lib/new-id.ts";
import { keyOf } from "./input.ts";
import { isBlocked } from "./session-state.ts";
import { existing, getSessionRecord } from "./sessions-wire.ts";

/** The session's sandbox: where its files are, and what is kept of them. */
export async function getHand(store: Store, key: SessionKey): Promise<SessionHand> {
  return await describe(store, await getSessionRecord(store.sessions, key));
}

/**
 * Gives the session's hand, with its files and the live sandbox, to another session of the workspace, which
 * must not have used its own: that one the session gets for it. Both are at rest, and whoever might still
 * drive one of them is fenced off. One transaction. Rejects with `ConflictError` where that cannot be.
 */
export async function passHand(
  tx: StoreTransaction,
  key: SessionKey,
  { to_session_id: toId }: SessionHandPassParams,
): Promise<SessionHand> {
  const toKey = { workspaceId: key.workspaceId, sessionId: toId };
  if (toId === key.sessionId) {
    throw new InvalidRequestError("to_session_id: the session has its hand already");
  }
  const from = existing(await tx.sessions.lock(key), key);
  const to = existing(await tx.sessions.lock(toKey), toKey);
  await assertAtRest(tx, from);
  await assertAtRest(tx, to);
  const { workspace_id: workspaceId } = from;
  if ((await tx.hands.find(workspaceId, from.hand_id)) === undefined) {
    throw new ConflictError(
      `session ${from.id} has no sandbox to pass on: no call was sent to one`,
      {
        code: "hand_unused",
      },
    );
  }
  if ((await tx.hands.find(workspaceId, to.hand_id)) !== undefined) {
    throw new ConflictError(
      `session ${to.id} has used a sandbox of its own, whose files would be lost to it: pass the hand to a session that has not`,
      { code: "hand_used" },
    );
  }
  await tx.sessions.swapHands(workspaceId, [from.id, to.id]);
  const passed = { hand_id: from.hand_id, to: to.id, new_hand_id: to.hand_id };
  await tx.events.appendReceipts(key, [draftOf(from, "drover.hand_passed", passed)]);
  const taken = { hand_id: from.hand_id, from: from.id };
  await tx.events.appendReceipts(toKey, [draftOf(to, "drover.hand_taken", taken)]);
  return await describe(tx, { ...to, hand_id: from.hand_id });
}

async function assertAtRest(tx: StoreTransaction, session: SessionRecord): Promise<void> {
  if (session.archived_at !== null) {
    throw new ConflictError(`session ${session.id} is archived`, { code: "session_archived" });
  }
  if (session.status === "idle" && !(await isBlocked(tx, keyOf(session)))) return;
  const why = session.status === "idle" ? "waits for an answer to a call" : "is not at rest";
  throw new ConflictError(
    `session ${session.id} ${why}: a hand is passed between sessions that are idle, with no call open`,
    { code: "session_not_at_rest" },
  );
}

function draftOf<T extends "drover.hand_passed" | "drover.hand_taken">(
  { thread_id }: SessionRecord,
  type: T,
  said: EventBodies[T]["private"],
): EventDraft {
  const id = newId("sevt");
  // The pair of type and body is the union's, which the compiler cannot follow through a parameter.
  return { id, type, thread_id, cross_posted: false, public: {}, private: said } as EventDraft;
}

async function describe(
  store: Pick<Store, "hands">,
  { id, workspace_id, hand_id }: SessionRecord,
): Promise<SessionHand> {
  const hand = await store.hands.find(workspace_id, hand_id);
  const checkpoint = hand?.checkpoint ?? null;
  return {
    id: hand_id,
    type: "session_hand",
    session_id: id,
    is_used: hand !== undefined,
    installation_id: hand?.installation_id ?? null,
    checkpoint: checkpoint && {
      size_bytes: checkpoint.size_bytes,
      taken_at: checkpoint.taken_at,
      tool_use_id: checkpoint.call_id,
      is_current: hand !== undefined && !isAhead(hand),
    },
    problem: hand?.problem ?? null,
  };
}
