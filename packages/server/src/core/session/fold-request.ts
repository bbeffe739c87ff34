import type { EventDraft, GoOn, RequestEnd } from "./log-event.ts";
import {
  type Ending,
  type GoOns,
  type OpenRequest,
  type SessionState,
  type ThreadState,
  withThread,
} from "./state.ts";

type RequestEvent = Extract<
  EventDraft,
  {
    type:
      | "span.model_request_start"
      | "span.model_request_end"
      | "agent.message"
      | "agent.thinking"
      | "drover.response_held"
      | "drover.calls_judged";
  }
>;

/** Folds what a model request does to its thread. */
export function foldRequestEvent(
  state: SessionState,
  thread: ThreadState,
  draft: RequestEvent,
  seq: number,
): SessionState {
  switch (draft.type) {
    case "span.model_request_start": {
      const { attempt, purpose } = draft.private;
      const request: OpenRequest = {
        id: draft.id,
        attempt,
        purpose: purpose ?? "turn",
        calls: [],
        held: null,
      };
      return withThread(state, draft.thread_id, { ...thread, request, retry: null });
    }
    case "span.model_request_end":
      return withThread(state, draft.thread_id, requestEnded(thread, draft));
    case "drover.response_held": {
      const { request } = thread;
      if (request?.id !== draft.private.request) return state;
      const held = { seq, usage: draft.private.response.usage };
      return withThread(state, draft.thread_id, { ...thread, request: { ...request, held } });
    }
    case "drover.calls_judged":
    case "agent.message":
    case "agent.thinking":
      return state;
  }
}

function requestEnded(
  thread: ThreadState,
  draft: Extract<RequestEvent, { type: "span.model_request_end" }>,
): ThreadState {
  if (thread.request?.id !== draft.public.model_request_start_id) return thread;
  // A lost or interrupted request is no failure of the model, so it does not count towards the limit.
  if (draft.private.outcome === "lost" || draft.private.outcome === "interrupted") {
    return { ...thread, request: null };
  }
  if (draft.private.outcome === "failed") {
    // Asked for too much, or a summary that came out empty: that is met by another request.
    if (draft.private.reason !== undefined) return { ...thread, request: null };
    return { ...thread, request: null, failures: thread.failures + 1 };
  }
  if (thread.request.purpose === "compaction") return { ...thread, request: null, failures: 0 };
  return responded(thread, thread.request, draft.private);
}

function responded(thread: ThreadState, request: OpenRequest, end: RequestEnd): ThreadState {
  const stopReason = end.stop_reason ?? null;
  const hasCalls = request.calls.length > 0;
  // Logs of before the first release say so by the stop reason alone.
  const goesOn = end.go_on !== undefined || stopReason === "pause_turn";
  return {
    ...thread,
    request: null,
    calls: request.calls,
    failures: 0,
    failingSinceMs: null,
    rounds: thread.rounds + 1,
    goOns: end.go_on === undefined ? {} : oneMore(thread.goOns, end.go_on),
    pending: goesOn && !hasCalls,
    ending: hasCalls || goesOn ? null : endingOf(stopReason, end.refusal),
  };
}

function oneMore(goOns: GoOns, because: GoOn): GoOns {
  return { ...goOns, [because]: (goOns[because] ?? 0) + 1 };
}

function endingOf(stopReason: string | null, refusal: Ending["stop_details"] | undefined): Ending {
  return stopReason === "refusal"
    ? {
        stop_reason: { type: "refusal" },
        stop_details: refusal ?? { type: "refusal", category: null, explanation: null },
      }
    : { stop_reason: { type: "end_turn" }, stop_details: null };
}
