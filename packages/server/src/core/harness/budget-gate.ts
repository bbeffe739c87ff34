import { isAtCap } from "../session/budget.ts";
import type { InboxEvent } from "../session/log-event.ts";
import { type SessionState, threadState } from "../session/state.ts";
import type { Action, Step } from "./actions.ts";

/** The steps that a model request follows. Those of a request that runs are none: it is not stopped. */
const ASKS_MODEL: Readonly<Record<Step["type"], boolean>> = {
  ask: true,
  take_up: true,
  ask_summary: true,
  exceed_compactions: false,
  refuse_calls: false,
  resume: false,
  require_action: false,
  interrupt_open: false,
  interrupt: false,
  hold: false,
  keep_input: false,
  exceed_rounds: false,
  end_turn: false,
};

/**
 * The same actions, but no further model request for a session that is at its budget: the turn is held
 * where it is. What comes in meanwhile is kept in the log for when it goes on. `now` (RFC 3339) is for
 * the running time so far.
 */
export function withinBudget(
  actions: readonly Action[],
  state: SessionState,
  { threadId, inbox, now }: { threadId: string; inbox: readonly InboxEvent[]; now: string },
): readonly Action[] {
  const asks = actions.some(isAsk);
  const judges = actions.some(({ kind }) => kind === "judge_calls");
  if (!asks && !judges) return actions;
  const { hold, status } = threadState(state, threadId);
  // While calls are judged the time runs on, and what has been begun is not broken off for that.
  const account = asks ? state.account : { ...state.account, runningSince: null };
  if (!isAtCap(account, state.budget, now)) {
    // Judging is no step that would say by itself that the turn goes on.
    return judges && status === "idle" ? append("resume") : actions;
  }
  const isTold = state.status === "idle" && hold === "held";
  if (!isTold) return append("hold");
  return inbox.length > 0 ? append("keep_input") : [];
}

/** True of an action that asks a model, or is only done because that comes next. */
export function isAsk(action: Action): boolean {
  if (action.kind === "append") return ASKS_MODEL[action.step.type];
  return action.kind === "count_context" || action.kind === "cut_context";
}

function append(type: "resume" | "hold" | "keep_input"): readonly Action[] {
  return [{ kind: "append", id: `append:${type}`, step: { type } }];
}
