import { unreachable } from "../errors.ts";
import type { EventDraft, InboxEvent } from "../session/log-event.ts";
import { type Ending, type SessionState, threadState } from "../session/state.ts";
import type { Step } from "./actions.ts";
import {
  bare,
  type Drafting,
  draft,
  sessionError,
  taken,
  threadStatus,
  usageDraft,
} from "./drafting.ts";
import { requestEnded } from "./request-end.ts";
import { deniedResult, interruptedResult } from "./results.ts";

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
    case "deny_calls":
      return step.callIds.map((callId) => deniedResult(drafting, callId));
    case "interrupt_open":
      return interruptOpen(step, drafting);
    case "interrupt":
      return interrupt(step.eventId, state, inbox, drafting);
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
    ...(state.status === "running" ? [] : [bare(drafting, "session.status_running")]),
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
  const interruptAt = inbox.find((event) => event.type === "user.interrupt")?.arrival ?? Infinity;
  const input = inbox.filter((event) => event.arrival < interruptAt);
  const start = draft(drafting, "span.model_request_start", {
    public: {},
    private: { model: drafting.model, attempt },
  });
  // With an interrupt right behind the input nothing is asked: the next decision ends the turn.
  const isInterrupted = interruptAt !== Infinity;
  return [
    ...runningDrafts(state, drafting),
    ...input.map(taken),
    ...(isInterrupted ? [] : [start]),
  ];
}

function interruptOpen(
  step: Extract<Step, { type: "interrupt_open" }>,
  drafting: Drafting,
): readonly EventDraft[] {
  const end =
    step.requestId === undefined
      ? []
      : [requestEnded(drafting, step.requestId, { outcome: "interrupted" })];
  return [...end, ...step.callIds.map((callId) => interruptedResult(drafting, callId))];
}

function interrupt(
  eventId: string,
  state: SessionState,
  inbox: readonly InboxEvent[],
  drafting: Drafting,
): readonly EventDraft[] {
  const events = inbox.filter((event) => event.id === eventId).map(taken);
  if (threadState(state, drafting.threadId).status === "idle") return events;
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

/** `session.status_idle` is the last event of a turn: clients stop reading there. */
export function idleDrafts(
  ending: Ending,
  state: SessionState,
  drafting: Drafting,
): readonly EventDraft[] {
  const thread = threadState(state, drafting.threadId);
  const names = { session_thread_id: drafting.threadId, agent_name: drafting.agentName };
  return [
    ...(thread.status === "idle"
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
