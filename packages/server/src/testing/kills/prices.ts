import type { Budget } from "@drover/api";
import type { PriceList } from "../../core/pricing/price-list.ts";

/** A cent for a token of output and nothing for the rest, which depends on what the cache had. */
export const PRICES: PriceList = {
  tokens: () => ({
    input: 0,
    output: 10_000_000_000,
    cache_read: 0,
    cache_write_5m: 0,
    cache_write_1h: 0,
  }),
  hour: 0,
  search: 0,
};

export function budgetOf(cents: number | null): Budget | null {
  if (cents === null) return null;
  return { type: "limit", max_list_cost: { amount: String(cents), currency: "USD" } };
}
