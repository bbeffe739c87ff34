import { usageCost } from "../pricing/cost.ts";
import type { PricedModel } from "../pricing/price-list.ts";
import type { Charge } from "../session/account.ts";
import type { EventDraft, RequestEnd } from "../session/log-event.ts";
import type { OpenRequest } from "../session/state.ts";
import { spanUsage } from "../session/usage.ts";
import { type Drafting, draft } from "./drafting.ts";

/** The event that closes a request to `model`, however it ended, with what it costs by now. */
export function requestEnded(
  drafting: Drafting,
  requestId: string,
  end: Omit<RequestEnd, "cost">,
  model: PricedModel = drafting.model,
): EventDraft {
  const cost = requestCost(end, model, drafting);
  const speed = model.speed === "fast" ? model.speed : undefined;
  return draft(drafting, "span.model_request_end", {
    public: {
      model_request_start_id: requestId,
      is_error: end.outcome !== "response",
      model_usage: spanUsage(end.usage, speed),
    },
    private: { ...end, ...(cost !== undefined && { cost: String(cost) }) },
  });
}

/** The same for a request that is not to be answered any more, with what it had reported until now. */
export function requestClosed(
  drafting: Drafting,
  { id, held }: OpenRequest,
  outcome: "interrupted" | "lost",
): EventDraft {
  const usage = held?.usage ?? drafting.usageOf(id);
  return requestEnded(drafting, id, { outcome, ...(usage !== undefined && { usage }) });
}

/** Undefined if it is not known: there is no price, or an answer whose tokens were not reported. */
export function requestCost(
  { outcome, usage }: Omit<Charge, "cost">,
  model: PricedModel,
  { prices }: Pick<Drafting, "prices">,
): bigint | undefined {
  const tokenPrices = prices.tokens(model);
  if (tokenPrices === undefined || usage === undefined) return undefined;
  const isCounted = usage.input_tokens !== undefined && usage.output_tokens !== undefined;
  if (outcome === "response" && !isCounted) return undefined;
  return usageCost(usage, tokenPrices, prices);
}
