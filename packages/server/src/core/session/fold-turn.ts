import type { StopReason } from "@drover/api";
import { unreachable } from "../errors.ts";
import type { EventDraft } from "./log-event.ts";
import { isTurnOpen, type ThreadState } from "./state.ts";

type TurnEvent = Extract<
  EventDraft,
  {
    type:
      | "user.message"
      | "system.message"
      | "user.interrupt"
      | "session.error"
      | "drover.retry_scheduled"
      | "session.thread_status_running"
      | "session.thread_status_rescheduled"
      | "session.thread_status_idle"
      | "session.thread_status_terminated";
  }
>;

/** Folds what begins, holds up and ends a turn. */
export function foldTurnEvent(thread: ThreadState, draft: TurnEvent): ThreadState {
  switch (draft.type) {
    case "user.message":
      // Input that is flushed after the turn has failed waits for the next turn.
      return isFailed(thread) ? thread : { ...thread, pending: true, ending: null };
    case "system.message":
      return thread;
    case "user.interrupt":
      // A budget holds a turn also against its user.
      return !isTurnOpen(thread) || thread.hold === "held"
        ? thread
        : {
            ...thread,
            pending: false,
            retry: null,
            ending: { stop_reason: { type: "end_turn" }, stop_details: null },
          };
    case "session.error":
      return draft.public.error.retry_status.type === "retrying"
        ? thread
        : {
            ...thread,
            pending: false,
            retry: null,
            ending: { stop_reason: { type: "retries_exhausted" }, stop_details: null },
          };
    case "drover.retry_scheduled":
      return {
        ...thread,
        retry: { attempt: draft.private.attempt, atMs: draft.private.at_ms },
        failingSinceMs: draft.private.since_ms ?? null,
      };
    case "session.thread_status_running":
      // Seen at the start of a turn, and again when a wait is over: before another attempt, or for the
      // client.
      return thread.status === "rescheduling"
        ? { ...thread, status: "running", retry: null, hold: null }
        : { ...thread, status: "running", blockedOn: null, hold: null };
    case "session.thread_status_rescheduled":
      return { ...thread, status: "rescheduling" };
    case "session.thread_status_idle":
      return cameToRest(thread, draft.public.stop_reason);
    case "session.thread_status_terminated":
      return turnOver(thread, "terminated");
    default:
      return unreachable(draft);
  }
}

function isFailed(thread: ThreadState): boolean {
  return thread.ending?.stop_reason.type === "retries_exhausted";
}

/** Only some of the reasons to stop are the end of the turn. */
function cameToRest(thread: ThreadState, reason: StopReason): ThreadState {
  switch (reason.type) {
    case "requires_action":
      return { ...thread, status: "idle", blockedOn: reason.event_ids };
    case "budget_reached":
      // Time in which nobody asked is no time of failing: whoever lets it go on gives it all attempts.
      return { ...thread, status: "idle", hold: "held", failures: 0, failingSinceMs: null };
    default:
      return turnOver(thread, "idle");
  }
}

function turnOver(thread: ThreadState, status: "idle" | "terminated"): ThreadState {
  return {
    ...thread,
    status,
    request: null,
    calls: [],
    blockedOn: null,
    pending: false,
    retry: null,
    failures: 0,
    failingSinceMs: null,
    goOns: {},
    rounds: 0,
    ending: null,
    hold: null,
  };
}
