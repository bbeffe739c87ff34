import type { Drafting } from "../core/harness/drafting.ts";
import type { FindLimits } from "../core/harness/next-actions.ts";
import type { Policies } from "../core/harness/policies.ts";
import { stepDrafts } from "../core/harness/steps.ts";
import { wantedActions } from "../core/harness/wanted-actions.ts";
import type { SessionStatus, SessionTotals } from "../core/ports/sessions.ts";
import { foldDraft } from "../core/session/fold.ts";
import type { EventDraft, InboxEvent } from "../core/session/log-event.ts";
import type { SessionState } from "../core/session/state.ts";
import { totalsOf } from "../core/session/totals.ts";
import type { Settlement } from "./settlement.ts";

/** More decisions in a row than any log needs that has nothing more to take up. */
const STEPS_MAX = 100;

export interface Decision {
  readonly drafts: readonly EventDraft[];
  readonly status: SessionStatus;
  readonly totals: SessionTotals;
}

/**
 * Everything that can be appended now, as one list: what has come back, then each decision that
 * follows from it without anything from outside. One append instead of several saves as many syncs
 * of the disk. Of very much input it takes up a part, and the rest is decided on after that.
 */
export function decide(request: {
  readonly state: SessionState;
  readonly inbox: readonly InboxEvent[];
  readonly drafting: Drafting;
  readonly policies: Policies;
  readonly limitsOf: FindLimits;
  readonly hasMcpServers: boolean;
  readonly settlements: readonly Settlement[];
}): Decision {
  const { drafting } = request;
  const drafts: EventDraft[] = [];
  let { state, inbox } = request;
  const add = (more: readonly EventDraft[]) => {
    drafts.push(...more);
    for (const draft of more) state = foldDraft(state, draft, drafting.now);
    const taken = new Set(more.map((draft) => draft.id));
    inbox = inbox.filter((event) => !taken.has(event.id));
  };
  for (const settlement of request.settlements) add(settlement.drafts(state, drafting));
  for (let step = 0; ; step++) {
    const { threadId, now } = drafting;
    const [action] = wantedActions({ ...request, state, inbox, threadId, now });
    if (action?.kind !== "append") break;
    if (step >= STEPS_MAX) {
      // Each message and each interrupt behind it begins and ends a turn, and a client can send many.
      if (inbox.length < request.inbox.length) break;
      throw new Error(`no end of decisions at ${action.id}`);
    }
    add(stepDrafts(action.step, state, inbox, drafting));
  }
  return { drafts, status: state.status, totals: totalsOf(state, drafting.now) };
}

/** True if the drafts are wrong once something was received that was not known when they were decided. */
export function isContested(state: SessionState, drafts: readonly EventDraft[]): boolean {
  return presumesNoAnswer(drafts) || (state.budget !== null && presumesBudget(drafts));
}

/** A budget that was lowered may not allow the request, and one that was raised holds nobody up. */
function presumesBudget(drafts: readonly EventDraft[]): boolean {
  return drafts.some((draft) => {
    if (draft.type === "span.model_request_start") return true;
    if (draft.type !== "session.status_idle") return false;
    return draft.public.stop_reason.type === "budget_reached";
  });
}

/**
 * True if the drafts are wrong once the client has answered a call that it had not when they were
 * decided: they answer in its place, or tell what is waited for.
 */
function presumesNoAnswer(drafts: readonly EventDraft[]): boolean {
  return drafts.some((draft) => {
    if (draft.type === "user.custom_tool_result") return true;
    if (draft.type !== "session.status_idle") return false;
    return draft.public.stop_reason.type === "requires_action";
  });
}
