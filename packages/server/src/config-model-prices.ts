import { z } from "zod";

/** Decimals of a price or a multiplier that are counted. */
const PRICE_DECIMALS = 6;
const MULTIPLIER_DECIMALS = 3;

const Price = decimal(
  /^\d{1,6}(\.\d{1,6})?$/,
  'must be dollars per million tokens with at most six decimals, such as "0.25"',
);
const Multiplier = decimal(
  /^\d{1,3}(\.\d{1,3})?$/,
  'must be a number with at most three decimals, such as "2.5"',
);

/**
 * List prices as settings give them, in dollars per million tokens; what is left out of caching costs
 * as much as other input. Read as picodollars (10^-12 dollars) per token, which are whole numbers.
 */
export const PriceSettings = z
  .strictObject({
    input: Price,
    output: Price,
    cache_read: Price.optional(),
    cache_write_5m: Price.optional(),
    cache_write_1h: Price.optional(),
    fast_multiplier: Multiplier.optional(),
  })
  .transform(({ fast_multiplier: multiplier, ...prices }) => {
    const input = scaled(prices.input, PRICE_DECIMALS);
    const scale = (price: string | undefined) =>
      price === undefined ? input : scaled(price, PRICE_DECIMALS);
    const standard = {
      input,
      output: scale(prices.output),
      cache_read: scale(prices.cache_read),
      cache_write_5m: scale(prices.cache_write_5m),
      cache_write_1h: scale(prices.cache_write_1h),
    };
    return multiplier === undefined
      ? standard
      : { ...standard, fast: multiplied(standard, scaled(multiplier, MULTIPLIER_DECIMALS)) };
  });

/** Text or a number of YAML; as text, because only so every decimal is exact. */
export function decimal(pattern: RegExp, error: string) {
  return z
    .union([z.string(), z.number().transform(String)], error)
    .pipe(z.string().regex(pattern, error));
}

function multiplied<T extends Readonly<Record<string, number>>>(prices: T, thousandths: number): T {
  const times = ([name, price]: [string, number]) => [
    name,
    // Rounded up, so that no budget is passed unseen.
    Number((BigInt(price) * BigInt(thousandths) + 999n) / 1000n),
  ];
  // The names are those that came in.
  return Object.fromEntries(Object.entries(prices).map(times)) as T;
}

/** `"0.25"` with 6 decimals is 250,000. */
export function scaled(decimal: string, decimals: number): number {
  const [whole = "", fraction = ""] = decimal.split(".");
  return Number(whole + fraction.padEnd(decimals, "0"));
}
