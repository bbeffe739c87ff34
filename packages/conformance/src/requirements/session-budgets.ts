import { type Requirement, requirements } from "../requirement.ts";

/** What a session costs, and how much it may: §5.1 to §5.3, §6.5. */
export const sessionBudgets: readonly Requirement[] = requirements({
  "budgets.list-cost": [
    "5.1",
    "usage.list_cost is what a session or thread has consumed at list price, in whole cents.",
  ],
  "budgets.model": [
    "5.2",
    "A budget for a session whose model has no list price is refused as model_not_budgetable.",
  ],
  "budgets.lowered": ["5.3", "A budget can be lowered to more than what was consumed."],
  "budgets.at-cap": [
    "6.5",
    "At its budget a session takes answers to calls and interrupts; anything else refuses its whole request.",
  ],
  "budgets.interrupt": [
    "6.5",
    "An interrupt of a session that is held at its budget has no effect.",
  ],
  "budgets.outranked": [
    "6.5",
    "A call that waits for the client is told first, and may be answered at the budget.",
  ],
});
