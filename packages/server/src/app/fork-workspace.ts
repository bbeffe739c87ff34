import { StoreUnavailableError } from "../core/errors.ts";
import type { Checkpoints } from "../core/ports/checkpoints.ts";
import type { EventReader, SessionKey } from "../core/ports/event-log.ts";
import type { Recipe } from "../core/ports/hands.ts";
import type { NewSession, SessionRecord } from "../core/ports/sessions.ts";
import type { Store } from "../core/ports/store.ts";
import { calledTool, isToolUse, TOOL_USE_TYPES } from "../core/session/called-tool.ts";
import type { LogEvent, LogEventOf } from "../core/session/log-event.ts";
import { type SessionState, threadState } from "../core/session/state.ts";
import { checkpointGone, isSandboxTool, type WorkspaceAt } from "../core/sessions/workspace-at.ts";
import { keyOf } from "./input.ts";

const PAGE_EVENTS = 200;
const CALL_TYPES = [...TOOL_USE_TYPES, "drover.call_started"] as const;

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
  const taken = await takenHand(events, source, seq);
  if (taken !== undefined && (before === undefined || before.seq < taken)) {
    const newest = await lastCall(events, key, {});
    return { type: newest === undefined || newest.seq < taken ? "present" : "gone" };
  }
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

/** Where the session took its hand over from another one, with files that no call in its log made. */
async function takenHand(
  events: EventReader,
  source: SessionRecord,
  seq: number,
): Promise<number | undefined> {
  const types = ["drover.hand_taken"] as const;
  const range = { types, before: seq + 1, order: "desc", limit: 1 } as const;
  const [last] = await events.getEvents(keyOf(source), range);
  const isIts = last?.type === "drover.hand_taken" && last.private.hand_id === source.hand_id;
  return isIts ? last.seq : undefined;
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
  const runs = calls.filter((call) => call.started !== null && !call.answered);
  if (runs.some(({ name }) => isSandboxTool(name))) {
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

type SentCall = LogEventOf<"drover.call_started">;

/** The newest call before `before` that was sent to a sandbox, as its journalling tells. */
async function lastCall(
  events: EventReader,
  key: SessionKey,
  { before }: { before?: number },
): Promise<SentCall | undefined> {
  const range = { types: CALL_TYPES, order: "desc", limit: PAGE_EVENTS } as const;
  const finder = new SandboxCallFinder();
  for (let until = before; ; ) {
    const below = until === undefined ? {} : { before: until };
    const page = await events.getEvents(key, { ...range, ...below });
    const found = finder.take(page);
    const last = page.at(-1);
    if (found !== undefined || last === undefined) return found;
    until = last.seq;
  }
}

/** Goes through a log from its end. A call's tool is named before the call is sent, so further up. */
class SandboxCallFinder {
  /** Those that were sent, the newest first, until their tools are known. */
  readonly #sent: SentCall[] = [];
  readonly #names = new Map<string, string>();

  /** Undefined while it is not known yet; an empty page is the beginning of the log. */
  take(page: readonly LogEvent[]): SentCall | undefined {
    for (const event of page) {
      if (event.type === "drover.call_started") this.#sent.push(event);
      else if (isToolUse(event)) this.#names.set(event.id, calledTool(event));
    }
    for (let [call] = this.#sent; call !== undefined; [call] = this.#sent) {
      const name = this.#names.get(call.private.call_id);
      if (name === undefined) return page.length === 0 ? call : undefined;
      if (isSandboxTool(name)) return call;
      this.#sent.shift();
    }
    return undefined;
  }
}
