import { InvalidRequestError } from "../core/errors.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { SessionRecord } from "../core/ports/sessions.ts";
import type { StoreTransaction } from "../core/ports/store.ts";
import type { InboxEvent } from "../core/session/log-event.ts";

/** Input that may wait in one session. */
const WAITING_MAX = 1_000;
/** Characters of waiting input, about: every wake and every list reads all of it. */
const WAITING_SIZE_MAX = 64 * 1024 * 1024;

export type InputDraft = Omit<InboxEvent, "arrival" | "accepted_at">;

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
  if (session.status === "idle" && drafts.some((draft) => draft.type === "user.message")) {
    await tx.sessions.update(key, { status: "running", updated_at: tx.now });
  }
  return accepted;
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
