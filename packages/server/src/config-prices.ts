import { decimal } from "./config-model-prices.ts";

/** Decimals of a dollar that a picodollar is. */
export const PICODOLLAR_DECIMALS = 12;

/** As text, so that every decimal is exact; so small that its picodollars are a safe integer. */
export function dollars(what: string) {
  return decimal(
    /^\d{1,3}(\.\d{1,6})?$/,
    `must be ${what}, less than 1000, with at most six decimals, such as "0.08"`,
  );
}
