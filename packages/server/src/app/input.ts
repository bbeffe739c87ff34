import { InvalidRequestError } from "../core/errors.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { SessionRecord } from "../core/ports/sessions.ts";
import type { StoreTransaction } from "../core/ports/store.ts";
import type { EventDraft, InboxEvent, LogEvent } from "../core/session/log-event.ts";
import { isBlocked } from "./session-state.ts";

/** Input that may wait in one session. */
const WAITING_MAX = 1_000;
/** Characters of waiting input, about: every wake and every list reads all of it. */
const WAITING_SIZE_MAX = 64 * 1024 * 1024;

/** Each kind keeps its own body, which `Omit` of the union would mix. */
export type InputDraft = Unplaced<InboxEvent>;
type Unplaced<E> = E extends InboxEvent ? Omit<E, "arrival" | "accepted_at"> : never;

/**
 * Puts input into the session's inbox and makes the session due. A message also shows an idle session
 * as running at once, so that whoever polls for idle right after sending does not take the moment
 * before the turn for its end.
 */
export async function acceptInput(
  tx: StoreTransaction,
  session: SessionRecord,
  drafts: readonly InputDraft[],
): Promise<readonly InboxEvent[]> {
  const key = keyOf(session);
  assertRoom(await tx.events.getInbox(key), drafts);
  const accepted = await tx.events.accept(key, drafts);
  const startsTurn =
    session.status === "idle" && drafts.some((draft) => draft.type === "user.message");
  // One that waits for its client stays idle: what comes now is taken up once that has answered.
  if (startsTurn && !(await isBlocked(tx, key))) {
    await tx.sessions.update(key, { status: "running", updated_at: tx.now });
  }
  return accepted;
}

/**
 * Appends the client's answers to calls, which are processed on receipt, and makes the session due. It
 * is shown as running at once, for the same reason, until it says itself what it still waits for.
 */
export async function receiveAnswers(
  tx: StoreTransaction,
  session: SessionRecord,
  answers: readonly EventDraft[],
): Promise<readonly LogEvent[]> {
  const key = keyOf(session);
  const received = await tx.events.appendReceipts(key, answers);
  if (session.status === "idle") {
    await tx.sessions.update(key, { status: "running", updated_at: tx.now });
  }
  return received;
}

export function keyOf(session: SessionRecord): SessionKey {
  return { workspaceId: session.workspace_id, sessionId: session.id };
}

function assertRoom(waiting: readonly InboxEvent[], drafts: readonly InputDraft[]): void {
  if (waiting.length + drafts.length > WAITING_MAX) {
    throw new InvalidRequestError(
      `events: ${waiting.length} events wait in this session already; at most ${WAITING_MAX} may`,
    );
  }
  if (waiting.length > 0 && sizeOf(waiting) + sizeOf(drafts) > WAITING_SIZE_MAX) {
    throw new InvalidRequestError(
      `events: more than ${WAITING_SIZE_MAX} characters would wait in this session`,
    );
  }
}

function sizeOf(events: readonly InputDraft[]): number {
  return events.reduce((size, event) => size + JSON.stringify(event.public).length, 0);
}
