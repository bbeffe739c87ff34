import { StoreUnavailableError } from "../core/errors.ts";
import type { Checkpoints } from "../core/ports/checkpoints.ts";
import type { EventReader, SessionKey } from "../core/ports/event-log.ts";
import type { Recipe } from "../core/ports/hands.ts";
import type { NewSession, SessionRecord } from "../core/ports/sessions.ts";
import type { Store } from "../core/ports/store.ts";
import { type SessionState, threadState } from "../core/session/state.ts";
import { checkpointGone, type WorkspaceAt } from "../core/sessions/workspace-at.ts";
import { keyOf } from "./input.ts";

/**
 * What the files of the session's sandbox are at a place of its log. A hand is the session's from its last
 * `drover.forked` on; calls before that were another one's, and are in the log all the same.
 */
export async function workspaceAt(
  events: EventReader,
  source: SessionRecord,
  seq: number,
): Promise<WorkspaceAt> {
  const key = keyOf(source);
  const before = await lastCall(events, key, { before: seq + 1 });
  if (before === undefined) return { type: "untouched" };
  if (before.private.hand_id !== source.hand_id) {
    const [begun] = await events.getEvents(key, {
      types: ["drover.forked"],
      order: "desc",
      limit: 1,
    });
    return { type: begun !== undefined && begun.seq <= seq ? "begun" : "gone" };
  }
  const newest = await lastCall(events, key, {});
  return { type: newest?.seq === before.seq ? "present" : "gone" };
}

/**
 * The recipe of a fork with the files that the other session's sandbox has now. What was not answered at
 * the place of the fork may still change them. Rejects with `ConflictError` if they cannot be had, and with
 * `StoreUnavailableError` if they cannot be had now.
 */
export async function withCheckpoint(
  { store, checkpoints }: { store: Store; checkpoints: Checkpoints },
  { source, state, session }: { source: SessionRecord; state: SessionState; session: NewSession },
  recipe: Recipe,
): Promise<Recipe> {
  const { calls } = threadState(state, session.thread_id);
  if (calls.some((call) => call.started !== null && !call.answered)) {
    throw checkpointGone("a call was running in the session's sandbox");
  }
  const { workspace_id: workspaceId, hand_id: handId } = source;
  const hand = { workspaceId, handId, recipe: source.recipe };
  const outcome = await checkpoints.take(hand, new AbortController().signal);
  if (outcome.type === "refused") {
    throw checkpointGone(
      `the files of the session's sandbox cannot be kept, because ${outcome.message}`,
    );
  }
  if (outcome.type === "unavailable") {
    throw new StoreUnavailableError(
      `the files of the session's sandbox cannot be had now: ${outcome.message}`,
    );
  }
  const { checkpoint } = outcome;
  await store.write((tx) =>
    tx.copies.hold({ workspaceId, sessionId: session.id }, checkpoint.sha256),
  );
  return { ...recipe, checkpoint };
}

/** Rejects if a call was sent since the place of the fork: the files may have changed while they were read. */
export async function assertUntouchedSince(
  events: EventReader,
  source: SessionRecord,
  seq: number,
): Promise<void> {
  const newest = await lastCall(events, keyOf(source), {});
  if (newest === undefined || newest.seq <= seq) return;
  throw checkpointGone("the session's sandbox was used while its files were read");
}

async function lastCall(events: EventReader, key: SessionKey, range: { before?: number }) {
  const [call] = await events.getEvents(key, {
    ...range,
    types: ["drover.call_started"],
    order: "desc",
    limit: 1,
  });
  return call?.type === "drover.call_started" ? call : undefined;
}
