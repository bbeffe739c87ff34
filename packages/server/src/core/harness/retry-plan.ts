import type { ModelOutcome } from "../ports/model.ts";
import type { ThreadState } from "../session/state.ts";
import { type Policies, retryDelayMs } from "./policies.ts";

type Failure = Extract<ModelOutcome, { type: "failure" }>;

/** What follows a failed model request. `message` is for the user. */
export type RetryPlan =
  | { readonly type: "give_up"; readonly message: string }
  | {
      readonly type: "retry";
      readonly message: string;
      /** Milliseconds since 1970: when the next attempt begins, and when the first of all failed. */
      readonly retry: {
        readonly attempt: number;
        readonly at_ms: number;
        readonly since_ms: number;
      };
    };

/**
 * Whether and when the model is asked again. There are two budgets: attempts, and the time from the
 * first failure in a row to the last attempt.
 */
export function retryPlan(
  failure: Failure,
  thread: Pick<ThreadState, "failures" | "failingSinceMs">,
  random: number,
  policies: Policies,
  nowMs: number,
): RetryPlan {
  const { message, retryAfterMs = 0 } = failure;
  const failures = thread.failures + 1;
  if (!failure.retryable || failures >= policies.attemptsMax) return { type: "give_up", message };
  const since_ms = thread.failingSinceMs ?? nowMs;
  const delayMs = retryDelayMs(policies, { failures, retryAfterMs, random });
  const at_ms = nowMs + delayMs;
  if (at_ms - since_ms > policies.retryBudgetMs) {
    const spent = `The time for further attempts is over: ${seconds(policies.retryBudgetMs)}.`;
    return { type: "give_up", message: `${sentence(message)} ${spent}` };
  }
  const isAskedEarly = retryAfterMs > delayMs;
  const early = `It wants to be asked again in ${seconds(retryAfterMs)}, and is in ${seconds(delayMs)}.`;
  return {
    type: "retry",
    message: isAskedEarly ? `${sentence(message)} ${early}` : message,
    retry: { attempt: failures + 1, at_ms, since_ms },
  };
}

function seconds(ms: number): string {
  return `${Math.ceil(ms / 1_000)} seconds`;
}

function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}
