import type { TurnError } from "@drover/api";
import type { SystemTurns } from "../models/system-turns.ts";
import type { ModelFailureKind, ModelOutcome } from "../ports/model.ts";
import type { EventDraft, LogEvent } from "../session/log-event.ts";
import { type SessionState, threadState } from "../session/state.ts";
import { bare, type Drafting, draft, sessionError, threadStatus } from "./drafting.ts";
import type { Policies } from "./policies.ts";
import { refusedMedia } from "./refused-media.ts";
import { requestClosed, requestEnded } from "./request-end.ts";
import { abandonedResult } from "./results.ts";
import { retryPlan } from "./retry-plan.ts";
import { runningDrafts } from "./steps.ts";
import { worksAround } from "./workarounds.ts";

type Failure = Extract<ModelOutcome, { type: "failure" }>;

const ERROR_TYPE: Record<ModelFailureKind, TurnError["type"]> = {
  overloaded: "model_overloaded_error",
  rate_limited: "model_rate_limited_error",
  billing: "billing_error",
  connection: "model_request_failed_error",
  request_failed: "model_request_failed_error",
  prompt_too_long: "model_request_failed_error",
  aborted: "model_request_failed_error",
};

export interface FailedRequest {
  readonly requestId: string;
  readonly state: SessionState;
  /** The events that the request was made from, and how system messages stood in it. */
  readonly context: readonly LogEvent[];
  readonly systemTurns: SystemTurns;
  /** In [0, 1). */
  readonly random: number;
}

/** What is appended for a model request that failed: another attempt later, or the end of the turn. */
export function failureDrafts(
  failure: Failure,
  request: FailedRequest,
  policies: Policies,
  drafting: Drafting,
): readonly EventDraft[] {
  const end = requestEnded(drafting, request.requestId, {
    outcome: "failed",
    message: failure.message,
    ...(failure.usage !== undefined && { usage: failure.usage }),
  });
  const error = (message: string, type: "retrying" | "exhausted") =>
    sessionError(drafting, { type: ERROR_TYPE[failure.kind], message, retry_status: { type } });
  const withheld = withheldDrafts(failure, request, policies, drafting);
  const thread = threadState(request.state, drafting.threadId);
  const nowMs = Date.parse(drafting.now);
  const plan = retryPlan(
    withheld.length === 0 ? failure : withoutMedia(failure),
    thread,
    request.random,
    policies,
    nowMs,
  );
  const closed = [end, ...withheld];
  if (plan.type === "give_up") return [...closed, error(plan.message, "exhausted")];
  const retry = withheld.length === 0 ? plan.retry : { ...plan.retry, at_ms: nowMs };
  return [
    ...closed,
    error(plan.message, "retrying"),
    bare(drafting, "session.status_rescheduled"),
    threadStatus(drafting, "session.thread_status_rescheduled"),
    draft(drafting, "drover.retry_scheduled", { public: {}, private: retry }),
  ];
}

/** What the API refused and is to be left out of every later request; empty if that is not it. */
function withheldDrafts(
  failure: Failure,
  { context, systemTurns }: FailedRequest,
  policies: Policies,
  drafting: Drafting,
): readonly EventDraft[] {
  if (failure.invalidRequest !== true) return [];
  if (!worksAround(policies, "refused_media_withheld", drafting.model.id)) return [];
  const { message } = failure;
  return refusedMedia(context, message, systemTurns).map((refused) =>
    draft(drafting, "drover.content_withheld", { public: {}, private: { ...refused, message } }),
  );
}

function withoutMedia(failure: Failure): Failure {
  const message = `${failure.message} The model is not shown this content any more.`;
  return { ...failure, message, retryable: true };
}

/**
 * Closes what a dead process left open: its model request can no longer be answered. A response that is
 * held is there, and is gone on with.
 */
export function deadRequestDrafts(state: SessionState, drafting: Drafting): readonly EventDraft[] {
  const { request } = threadState(state, drafting.threadId);
  return request?.held === null ? lostRequestDrafts(state, drafting) : [];
}

/** Closes the open request, whether it can still be answered or not. */
export function lostRequestDrafts(state: SessionState, drafting: Drafting): readonly EventDraft[] {
  const { request } = threadState(state, drafting.threadId);
  return request === null ? [] : [requestClosed(drafting, request, "lost")];
}

/**
 * Gives a turn up after something that should not happen: everything open is closed, the error is
 * shown, and the next decision ends the turn. `message` is for the client; `cause` for the log only.
 */
export function giveUpDrafts(
  state: SessionState,
  error: { message: string; cause: string },
  drafting: Drafting,
): readonly EventDraft[] {
  const open = threadState(state, drafting.threadId).calls.filter((call) => !call.answered);
  return [
    // A turn that could not even begin begins here, so that it can be seen to end.
    ...runningDrafts(state, drafting),
    ...lostRequestDrafts(state, drafting),
    ...open.map((call) => abandonedResult(drafting, call)),
    sessionError(
      drafting,
      { type: "unknown_error", message: error.message, retry_status: { type: "exhausted" } },
      error.cause,
    ),
  ];
}
