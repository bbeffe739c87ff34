import { type Charge, charged, resumed, started, stopped } from "./account.ts";
import type { EventDraft } from "./log-event.ts";
import { type SessionState, threadState, withThread } from "./state.ts";

/**
 * Folds what an event means for the accounts and the budget. `before` is the state before it was folded
 * otherwise; its times are those of `now`.
 */
export function foldAccount(
  state: SessionState,
  draft: EventDraft,
  { before, now }: { before: SessionState; now: string },
): SessionState {
  switch (draft.type) {
    case "span.model_request_end": {
      // A response that was held has been counted since then.
      const { request } = threadState(before, draft.thread_id);
      const isCounted =
        request?.id === draft.public.model_request_start_id && request.held !== null;
      return isCounted ? state : withCharge(state, draft.thread_id, draft.private);
    }
    case "drover.response_held": {
      const { response, cost } = draft.private;
      const charge = { outcome: "response", usage: response.usage, cost } as const;
      return withCharge(state, draft.thread_id, charge);
    }
    case "drover.calls_judged":
      // One that could not be asked, or did not answer in time, has told nothing.
      return draft.private.opinions.reduce((sum, { usage, cost }) => {
        return withCharge(sum, draft.thread_id, { outcome: "failed", usage, cost });
      }, state);
    case "agent.tool_result": {
      const { used } = draft.private;
      if (used === undefined) return state;
      const { cost, ...server_tool_use } = used;
      const charge = { outcome: "failed", usage: { server_tool_use }, cost } as const;
      return withCharge(state, draft.thread_id, charge);
    }
    case "session.status_running":
      return { ...state, account: started(state.account, now, draft.private.hour_price) };
    case "session.status_rescheduled":
    case "session.status_idle":
    case "session.status_terminated":
      return { ...state, account: stopped(state.account, now) };
    case "session.thread_status_running": {
      const thread = threadState(state, draft.thread_id);
      const account = started(thread.account, now);
      return withThread(state, draft.thread_id, { ...thread, account });
    }
    case "session.thread_status_rescheduled":
    case "session.thread_status_idle":
    case "session.thread_status_terminated": {
      const thread = threadState(state, draft.thread_id);
      const account = stopped(thread.account, now);
      return withThread(state, draft.thread_id, { ...thread, account });
    }
    case "drover.forked":
      return cutOff(state, draft.private.until ?? now, now);
    case "drover.budget_set":
      return { ...state, budget: draft.private.budget };
    case "session.updated":
      return draft.public.budget === undefined ? state : released(state, draft.public.budget);
    default:
      return state;
  }
}

function withCharge(state: SessionState, threadId: string, charge: Charge): SessionState {
  const thread = threadState(state, threadId);
  const account = charged(thread.account, charge);
  const whole = { ...state, account: charged(state.account, charge) };
  return withThread(whole, threadId, { ...thread, account });
}

/** A turn that is copied stopped where it was cut off: what lies between then and now is no running time. */
function cutOff(state: SessionState, until: string, now: string): SessionState {
  const threads = Object.entries(state.threads).map(([id, thread]) => {
    return [id, { ...thread, account: resumed(thread.account, until, now) }] as const;
  });
  const account = resumed(state.account, until, now);
  return { ...state, account, threads: Object.fromEntries(threads) };
}

/** A budget is only ever raised or removed, so that whatever it held up goes on. */
function released(state: SessionState, budget: SessionState["budget"]): SessionState {
  const threads = Object.fromEntries(
    Object.entries(state.threads).map(([id, thread]) => {
      return [id, thread.hold === null ? thread : { ...thread, hold: "released" as const }];
    }),
  );
  return { ...state, budget, threads };
}
