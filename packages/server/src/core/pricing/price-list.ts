import type { FindModel } from "../models/offered-models.ts";
import type { TokenPrices } from "../ports/model.ts";

/** A model with the speed it is asked at, as an agent names it. */
export interface PricedModel {
  readonly id: string;
  readonly speed?: "standard" | "fast" | undefined;
}

/** What things cost now. What has been used keeps the price it had then: it is in the log. */
export interface PriceList {
  /** By id or alias; undefined for a model that has no price. */
  readonly tokens: (model: PricedModel) => TokenPrices | undefined;
  /** Picodollars for an hour of a session that runs. */
  readonly hour: number;
  /** Picodollars for one web search that the model's API made. */
  readonly search: number;
  /** Who judges calls under `auto`, if not the agent's own model. */
  readonly judge?: PricedModel | undefined;
}

/** The price list of the models that a server knows. */
export function priceList(
  find: FindModel,
  { hour, search, judge }: Pick<PriceList, "hour" | "search" | "judge">,
): PriceList {
  return {
    tokens: ({ id, speed }) => {
      const prices = find(id)?.prices;
      return speed === "fast" ? (prices?.fast ?? prices) : prices;
    },
    hour,
    search,
    judge,
  };
}

/** Where nothing has a price. */
export const NO_PRICES: PriceList = priceList(() => undefined, { hour: 0, search: 0 });
