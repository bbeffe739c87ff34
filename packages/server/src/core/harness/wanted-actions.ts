import type { InboxEvent } from "../session/log-event.ts";
import type { SessionState } from "../session/state.ts";
import type { Action } from "./actions.ts";
import { withinBudget } from "./budget-gate.ts";
import { type FindLimits, nextActions } from "./next-actions.ts";
import type { Policies } from "./policies.ts";
import { type ToolsGate, withToolsListed } from "./tools-gate.ts";

export interface Wanting extends ToolsGate {
  readonly state: SessionState;
  readonly inbox: readonly InboxEvent[];
  readonly policies: Policies;
  readonly limitsOf: FindLimits;
  /** RFC 3339. */
  readonly now: string;
}

/** What is next for a thread, with all that comes before a model request. */
export function wantedActions(wanting: Wanting): readonly Action[] {
  const { state, threadId, inbox, policies, limitsOf } = wanting;
  const next = nextActions(state, threadId, inbox, policies, limitsOf);
  return withToolsListed(withinBudget(next, state, wanting), state, wanting);
}
