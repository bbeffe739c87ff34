import { foldDraft } from "../session/fold.ts";
import type { EventBodies, EventDraft } from "../session/log-event.ts";
import { isTurnOpen, type SessionState, threadState } from "../session/state.ts";
import { type Drafting, draft } from "./drafting.ts";
import { lostRequestDrafts } from "./failure.ts";
import { notCarriedResult } from "./results.ts";
import { END_TURN, idleDrafts, runningDrafts } from "./steps.ts";

/** What is appended to a log that was cut off, and the state that it then leads to. */
export interface Closing {
  readonly drafts: readonly EventDraft[];
  readonly state: SessionState;
}

/** What is known of a log at the place where it was cut off. */
export interface CutLog {
  readonly state: SessionState;
  /** False between a thread's end of its turn and the session's, which are one append. */
  readonly isIdleSaid: boolean;
}

/** Whether it is after this event, given what it was before. */
export function isIdleSaidAfter(before: boolean, { type }: Pick<EventDraft, "type">): boolean {
  if (type === "session.thread_status_idle") return false;
  return type === "session.status_idle" ? true : before;
}

/**
 * What follows the copied part of a log: where it came from, and the end of whatever was open there. Calls
 * that run belong to the other session's hand, so they are answered and never sent again; a request that is
 * open is lost; the turn ends, and nothing of it goes on by itself.
 */
export function forkDrafts(
  { state, isIdleSaid }: CutLog,
  origin: EventBodies["drover.forked"]["private"],
  drafting: Drafting,
): Closing {
  const forked = draft(drafting, "drover.forked", { public: {}, private: origin });
  const cut = foldDraft(state, forked, drafting.now);
  const closing = closingDrafts({ state: cut, isIdleSaid }, drafting);
  return { drafts: [forked, ...closing.drafts], state: closing.state };
}

/** Ends what is open in a log that nobody will go on with as it is. Nothing for a session at rest. */
function closingDrafts({ state, isIdleSaid }: CutLog, drafting: Drafting): Closing {
  const thread = threadState(state, drafting.threadId);
  const calls = thread.calls.filter((call) => !call.answered);
  const isOpen = thread.request !== null || calls.length > 0 || thread.pending;
  const isAtRest = !isOpen && !isTurnOpen(thread) && state.status === "idle";
  if (isAtRest && isIdleSaid) return { drafts: [], state };
  const ends = [
    // What is open in a session that shows as idle ends in a turn, as everything does.
    ...(state.status === "idle" && !isAtRest ? runningDrafts(state, drafting) : []),
    ...lostRequestDrafts(state, drafting),
    ...calls.map((call) => notCarriedResult(drafting, call)),
  ];
  const closed = folded(state, ends, drafting);
  const ending = threadState(closed, drafting.threadId).ending ?? END_TURN;
  const idle = idleDrafts(ending, closed, drafting);
  return { drafts: [...ends, ...idle], state: folded(closed, idle, drafting) };
}

function folded(
  state: SessionState,
  drafts: readonly EventDraft[],
  drafting: Drafting,
): SessionState {
  return drafts.reduce((before, one) => foldDraft(before, one, drafting.now), state);
}
