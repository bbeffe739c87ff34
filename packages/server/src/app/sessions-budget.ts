import type { Budget, ClientEventParams } from "@drover/api";
import { InvalidRequestError } from "../core/errors.ts";
import type { SessionRecord } from "../core/ports/sessions.ts";
import { dollars, picodollars } from "../core/pricing/cost.ts";
import type { PricedModel, PriceList } from "../core/pricing/price-list.ts";
import { consumed, EMPTY_ACCOUNT } from "../core/session/account.ts";
import { isAtCap } from "../core/session/budget.ts";
import { judgesMcpTools } from "../core/tools/mcp-tools.ts";
import { offeredTools } from "../core/tools/offered-tools.ts";

/** What settles what a turn already waits for; an interrupt is taken, though it ends nothing. */
const ACCEPTED_AT_CAP: readonly ClientEventParams["type"][] = [
  "user.tool_confirmation",
  "user.tool_result",
  "user.custom_tool_result",
  "user.interrupt",
];

/** Throws unless what the session's models use can be measured in money. */
export function assertBudgetable(agent: BudgetedAgent, prices: PriceList): void {
  const unpriced = modelsOf(agent, prices).find((model) => prices.tokens(model) === undefined);
  if (unpriced === undefined) return;
  throw new InvalidRequestError(
    `budget: the model ${unpriced.id} has no list price, so that a budget could not be kept; give it one in the configuration of models`,
    { code: "model_not_budgetable" },
  );
}

type BudgetedAgent = Pick<SessionRecord["agent"], "model" | "tools" | "mcp_servers">;

/** All that the session may ask. */
function modelsOf(agent: BudgetedAgent, { judge }: PriceList): readonly PricedModel[] {
  const { model, tools } = agent;
  const isJudged =
    offeredTools(tools).some((tool) => "policy" in tool && tool.policy === "auto") ||
    judgesMcpTools(agent);
  return isJudged && judge !== undefined ? [model, judge] : [model];
}

/**
 * Throws unless the session's budget may become `next`: it can be raised, lowered to what is not yet
 * consumed, and removed for good. `now` is RFC 3339.
 */
export function assertNewBudget(
  session: SessionRecord,
  next: Budget,
  { prices, now }: { prices: PriceList; now: string },
): void {
  if (session.budget === null) {
    throw new InvalidRequestError(
      "budget: cannot be added to a session that was created without one, or whose budget was removed",
      { code: "budget_create_only" },
    );
  }
  assertBudgetable(session.agent, prices);
  const { spending = EMPTY_ACCOUNT } = session.totals;
  if (spending.isUnknown) {
    throw new InvalidRequestError(
      "budget: the session has used a model without a list price, so that no budget can be kept any more; it can only be removed, with null",
      { code: "model_not_budgetable" },
    );
  }
  const cost = consumed(spending, now);
  if (picodollars(next.max_list_cost) > cost) return;
  throw new InvalidRequestError(
    `budget.max_list_cost: must be more than the ${dollars(cost)} that the session has consumed`,
    { code: "budget_not_raised" },
  );
}

/** Throws if the session is at its budget and one of the events would start more work. */
export function assertWithinBudget(
  session: SessionRecord,
  events: readonly ClientEventParams[],
  now: string,
): void {
  const { spending = EMPTY_ACCOUNT } = session.totals;
  if (!isAtCap(spending, session.budget, now)) return;
  const index = events.findIndex(({ type }) => !ACCEPTED_AT_CAP.includes(type));
  if (index < 0) return;
  throw new InvalidRequestError(
    `events.${index}: the session has reached its budget and takes no ${events[index]?.type}; raise the budget or remove it first`,
    { code: "budget_reached" },
  );
}

/**
 * True while the session's turn is held by its budget. An interrupt is recorded then, at once: one that
 * would wait until the budget is raised would end what the raise was to resume.
 */
export function isHeld(session: SessionRecord, now: string): boolean {
  const { spending = EMPTY_ACCOUNT, isHeld: hasHeld = false } = session.totals;
  return hasHeld && isAtCap(spending, session.budget, now);
}
