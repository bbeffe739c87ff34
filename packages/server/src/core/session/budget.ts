import type { Budget } from "@drover/api";
import { picodollars } from "../pricing/cost.ts";
import { consumed, type Spending } from "./account.ts";
import type { EventDraft } from "./log-event.ts";

/**
 * True if no further model request may be made: what was consumed has reached the budget, or cannot be
 * measured. It is decided on the exact amount, not on the rounded one that clients are shown.
 */
export function isAtCap(spending: Spending, budget: Budget | null, now: string): boolean {
  if (budget === null) return false;
  return spending.isUnknown || consumed(spending, now) >= picodollars(budget.max_list_cost);
}

/** What the log of a session with a budget begins with, so that the log alone tells what is to be done. */
export function budgetSet(id: string, threadId: string, budget: Budget): EventDraft {
  return {
    id,
    type: "drover.budget_set",
    thread_id: threadId,
    cross_posted: false,
    public: {},
    private: { budget },
  };
}
