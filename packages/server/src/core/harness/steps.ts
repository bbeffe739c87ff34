import { unreachable } from "../errors.ts";
import type { EventDraft, InboxEvent } from "../session/log-event.ts";
import {
  type Ending,
  isTurnOpen,
  type OpenCall,
  type SessionState,
  type ThreadState,
  threadState,
} from "../session/state.ts";
import type { Step } from "./actions.ts";
import { compactionLimitReached } from "./compaction.ts";
import {
  type Drafting,
  draft,
  sessionError,
  statusRunning,
  taken,
  threadStatus,
  usageDraft,
} from "./drafting.ts";
import { isToldOf, waitingIds } from "./open-calls.ts";
import { requestClosed } from "./request-end.ts";
import { refusedResult, unsentResult } from "./results.ts";

const BUDGET_REACHED: Ending = { stop_reason: { type: "budget_reached" }, stop_details: null };
export const END_TURN: Ending = { stop_reason: { type: "end_turn" }, stop_details: null };

/** The events that a step appends. Pure but for the ids and the time it is given. */
export function stepDrafts(
  step: Step,
  state: SessionState,
  inbox: readonly InboxEvent[],
  drafting: Drafting,
): readonly EventDraft[] {
  switch (step.type) {
    case "ask":
      return ask(step.attempt, state, inbox, drafting);
    case "refuse_calls":
      return openCalls(step.callIds, state, drafting).map((call) => refusedResult(drafting, call));
    case "resume":
      return runningDrafts(state, drafting);
    case "require_action":
      return idleDrafts(requiredAction(threadState(state, drafting.threadId)), state, drafting);
    case "take_up":
      return takeUp(state, inbox, drafting);
    case "ask_summary":
      return [
        ...runningDrafts(state, drafting),
        requestStarted(drafting, { attempt: step.attempt, purpose: "compaction" }),
      ];
    case "exceed_compactions":
      return [compactionLimitReached(drafting)];
    case "interrupt_open":
      return interruptOpen(step, state, drafting);
    case "interrupt":
      return interrupt(step.eventId, state, inbox, drafting);
    case "hold":
      return [...inbox.map(taken), ...idleDrafts(BUDGET_REACHED, state, drafting)];
    case "keep_input":
      return inbox.map(taken);
    case "exceed_rounds":
      return [
        sessionError(drafting, {
          type: "tool_use_limit_reached_error",
          message: "The turn made more model requests than one turn may.",
          retry_status: { type: "exhausted" },
        }),
      ];
    case "end_turn":
      return endTurn(state, inbox, drafting);
    default:
      return unreachable(step);
  }
}

/** What tells that the session and the thread run, as far as they do not say so yet. */
export function runningDrafts(state: SessionState, drafting: Drafting): readonly EventDraft[] {
  const thread = threadState(state, drafting.threadId);
  return [
    ...(state.status === "running" ? [] : [statusRunning(drafting)]),
    ...(thread.status === "running"
      ? []
      : [threadStatus(drafting, "session.thread_status_running")]),
  ];
}

function ask(
  attempt: number,
  state: SessionState,
  inbox: readonly InboxEvent[],
  drafting: Drafting,
): readonly EventDraft[] {
  // With an interrupt right behind the input nothing is asked: the next decision ends the turn.
  const isInterrupted = inbox.some((event) => event.type === "user.interrupt");
  return [
    ...takeUp(state, inbox, drafting),
    ...(isInterrupted ? [] : [requestStarted(drafting, { attempt })]),
  ];
}

function takeUp(
  state: SessionState,
  inbox: readonly InboxEvent[],
  drafting: Drafting,
): readonly EventDraft[] {
  const interruptAt = inbox.find((event) => event.type === "user.interrupt")?.arrival ?? Infinity;
  const input = inbox.filter((event) => event.arrival < interruptAt);
  return [...runningDrafts(state, drafting), ...input.map(taken)];
}

function requestStarted(
  drafting: Drafting,
  { attempt, purpose }: { attempt: number; purpose?: "compaction" },
): EventDraft {
  return draft(drafting, "span.model_request_start", {
    public: {},
    private: {
      model: drafting.model.id,
      attempt,
      ...(purpose !== undefined && { purpose }),
    },
  });
}

function interruptOpen(
  step: Extract<Step, { type: "interrupt_open" }>,
  state: SessionState,
  drafting: Drafting,
): readonly EventDraft[] {
  const { request } = threadState(state, drafting.threadId);
  const end = request === null ? [] : [requestClosed(drafting, request, "interrupted")];
  const calls = openCalls(step.callIds, state, drafting);
  return [...end, ...calls.map((call) => unsentResult(drafting, call))];
}

function openCalls(
  ids: readonly string[],
  state: SessionState,
  drafting: Drafting,
): readonly OpenCall[] {
  return threadState(state, drafting.threadId).calls.filter(({ id }) => ids.includes(id));
}

function requiredAction(thread: ThreadState): Ending {
  const event_ids = [...waitingIds(thread)];
  return { stop_reason: { type: "requires_action", event_ids }, stop_details: null };
}

function interrupt(
  eventId: string,
  state: SessionState,
  inbox: readonly InboxEvent[],
  drafting: Drafting,
): readonly EventDraft[] {
  const events = inbox.filter((event) => event.id === eventId).map(taken);
  if (!isTurnOpen(threadState(state, drafting.threadId))) return events;
  return [...events, ...idleDrafts(END_TURN, state, drafting)];
}

function endTurn(
  state: SessionState,
  inbox: readonly InboxEvent[],
  drafting: Drafting,
): readonly EventDraft[] {
  const ending = threadState(state, drafting.threadId).ending ?? END_TURN;
  // An exhausted turn takes the waiting input with it, so that it is in the log for the next turn.
  const flushed = ending.stop_reason.type === "retries_exhausted" ? inbox.map(taken) : [];
  return [...flushed, ...idleDrafts(ending, state, drafting)];
}

/**
 * `session.status_idle` is the last event of a turn, or of its part up to where the client has to act:
 * clients stop reading there.
 */
export function idleDrafts(
  ending: Ending,
  state: SessionState,
  drafting: Drafting,
): readonly EventDraft[] {
  const thread = threadState(state, drafting.threadId);
  // Only in a log that was cut off in the middle of these was the first of them said alone.
  const isSaid = isSaidOf(thread, ending);
  const names = { session_thread_id: drafting.threadId, agent_name: drafting.agentName };
  return [
    ...(isSaid
      ? []
      : [
          draft(drafting, "session.thread_status_idle", {
            public: { ...names, ...ending },
            private: {},
          }),
        ]),
    usageDraft(drafting, state),
    draft(drafting, "session.status_idle", { public: ending, private: {} }),
  ];
}

function isSaidOf(thread: ThreadState, { stop_reason: { type } }: Ending): boolean {
  if (type === "requires_action") return isToldOf(thread, thread);
  return type === "budget_reached" ? thread.hold === "held" : !isTurnOpen(thread);
}
