import type { MonetaryAmount } from "@drover/api";
import type { ModelUsage, TokenPrices } from "../ports/model.ts";
import { cacheWrites } from "../session/usage.ts";
import type { PriceList } from "./price-list.ts";

/**
 * Money is counted in picodollars, exactly: as `bigint`, in JSON as decimal text. Only what clients are
 * shown is rounded, to the nearest cent, and nothing is decided on that.
 */
const PICODOLLARS_PER_CENT = 10_000_000_000n;
const MS_PER_HOUR = 3_600_000n;

/** What the reported tokens and searches cost. A count that is not reported costs nothing. */
export function usageCost(
  usage: ModelUsage,
  prices: TokenPrices,
  { search }: Pick<PriceList, "search">,
): bigint {
  const { short, long } = cacheWrites(usage);
  return (
    times(usage.input_tokens, prices.input) +
    times(usage.output_tokens, prices.output) +
    times(usage.cache_read_input_tokens, prices.cache_read) +
    times(short, prices.cache_write_5m) +
    times(long, prices.cache_write_1h) +
    times(usage.server_tool_use?.web_search_requests, search)
  );
}

/** `hour` is the price of an hour; a fraction of a picodollar counts as a whole one. */
export function runningCost(ms: number, hour: bigint): bigint {
  return (BigInt(Math.max(0, Math.ceil(ms))) * hour + MS_PER_HOUR - 1n) / MS_PER_HOUR;
}

export function picodollars({ amount }: MonetaryAmount): bigint {
  return BigInt(amount) * PICODOLLARS_PER_CENT;
}

/** To the nearest cent, half a cent up. */
export function shownAmount(cost: bigint): MonetaryAmount {
  const cents = (cost + PICODOLLARS_PER_CENT / 2n) / PICODOLLARS_PER_CENT;
  return { amount: String(cents), currency: "USD" };
}

/** Dollars, for a sentence: `$1.0632`, exact and as short as that allows. */
export function dollars(cost: bigint): string {
  const [whole, fraction] = [cost / 10n ** 12n, cost % 10n ** 12n];
  const decimals = String(fraction).padStart(12, "0").replace(/0+$/, "").padEnd(2, "0");
  return `$${whole}.${decimals}`;
}

function times(count: number | undefined, price: number): bigint {
  return BigInt(count ?? 0) * BigInt(price);
}
