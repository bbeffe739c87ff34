import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ModelUsage } from "../ports/model.ts";
import { dollars, picodollars, runningCost, shownAmount, usageCost } from "./cost.ts";
import { priceList } from "./price-list.ts";

/** A dollar for a million tokens of input, five for output, in picodollars a token. */
const PRICES = {
  input: 1_000_000,
  output: 5_000_000,
  cache_read: 100_000,
  cache_write_5m: 1_250_000,
  cache_write_1h: 2_000_000,
};
/** Ten dollars for a thousand. */
const SEARCH = { search: 10_000_000_000 };
const cost = (usage: ModelUsage) => usageCost(usage, PRICES, SEARCH);
const usd = (amount: string) => ({ amount, currency: "USD" }) as const;

describe("what usage costs", () => {
  test.each<[string, ModelUsage, bigint]>([
    ["nothing that was reported", {}, 0n],
    ["input and output", { input_tokens: 3, output_tokens: 2 }, 13_000_000n],
    ["what came from the cache", { cache_read_input_tokens: 10 }, 1_000_000n],
    ["writes that are not split", { cache_creation_input_tokens: 4 }, 5_000_000n],
    [
      "writes that are split",
      {
        cache_creation_input_tokens: 5,
        cache_creation: { ephemeral_5m_input_tokens: 4, ephemeral_1h_input_tokens: 1 },
      },
      7_000_000n,
    ],
    [
      "writes of which only a part is split",
      { cache_creation_input_tokens: 5, cache_creation: { ephemeral_1h_input_tokens: 1 } },
      7_000_000n,
    ],
    ["searches", { server_tool_use: { web_search_requests: 2 } }, 20_000_000_000n],
    ["fetches, which cost nothing", { server_tool_use: { web_fetch_requests: 9 } }, 0n],
  ])("%s", (_what, usage, expected) => {
    expect(cost(usage)).toBe(expected);
  });

  test("is the same for the sum as for its parts, however many and large", () => {
    const count = fc.nat(1_000_000_000);
    const usage = fc.record({ input_tokens: count, output_tokens: count });
    fc.assert(
      fc.property(fc.array(usage, { maxLength: 50 }), (parts) => {
        const sum = (name: "input_tokens" | "output_tokens") =>
          parts.reduce((total, part) => total + part[name], 0);
        const whole = { input_tokens: sum("input_tokens"), output_tokens: sum("output_tokens") };
        expect(parts.reduce((total, part) => total + cost(part), 0n)).toBe(cost(whole));
      }),
    );
  });
});

describe("running time", () => {
  /** Eight cents. */
  const HOUR = 80_000_000_000n;

  test("costs its share of an hour", () => {
    expect(runningCost(3_600_000, HOUR)).toBe(HOUR);
    expect(runningCost(0, HOUR)).toBe(0n);
    expect(runningCost(450_000, HOUR)).toBe(10_000_000_000n);
  });

  test("costs at most a picodollar more for being reckoned in pieces, and never less", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(10_000_000), { maxLength: 20 }), (pieces) => {
        const whole = runningCost(
          pieces.reduce((sum, ms) => sum + ms, 0),
          HOUR,
        );
        const sum = pieces.reduce((total, ms) => total + runningCost(ms, HOUR), 0n);
        expect(sum - whole).toBeGreaterThanOrEqual(0n);
        expect(sum - whole).toBeLessThanOrEqual(BigInt(pieces.length));
      }),
    );
  });
});

describe("what is shown", () => {
  test.each([
    [0n, "0"],
    [4_999_999_999n, "0"],
    [5_000_000_000n, "1"],
    [14_999_999_999n, "1"],
    [15_000_000_000n, "2"],
    [10n ** 25n, "1000000000000000"],
  ])("%i picodollars are %s cents", (picos, cents) => {
    expect(shownAmount(picos)).toEqual(usd(cents));
  });

  test("whole cents come back as they were", () => {
    const amount = fc.bigInt({ min: 0n, max: 10n ** 15n }).map(String);
    fc.assert(
      fc.property(amount, (cents) => {
        expect(shownAmount(picodollars(usd(cents)))).toEqual(usd(cents));
      }),
    );
  });

  test.each([
    [0n, "$0.00"],
    [50_000_000_000n, "$0.05"],
    [1_063_200_000_000n, "$1.0632"],
    [1n, "$0.000000000001"],
  ])("in a sentence %i picodollars are %s", (picos, text) => {
    expect(dollars(picos)).toBe(text);
  });
});

describe("a price list", () => {
  const fast = { ...PRICES, output: 9 };
  const list = priceList(
    (id) =>
      ({
        plain: { prices: PRICES },
        quick: { prices: { ...PRICES, fast } },
        free: {},
      })[id] as never,
    { hour: 1, search: 2 },
  );

  test("has the prices of each model, at the speed it is asked at", () => {
    expect(list.tokens({ id: "plain" })).toBe(PRICES);
    expect(list.tokens({ id: "plain", speed: "fast" })).toBe(PRICES);
    expect(list.tokens({ id: "quick", speed: "standard" })).toMatchObject(PRICES);
    expect(list.tokens({ id: "quick", speed: "fast" })).toBe(fast);
  });

  test("has none for a model that has none, or that nobody knows", () => {
    expect(list.tokens({ id: "free" })).toBeUndefined();
    expect(list.tokens({ id: "unknown" })).toBeUndefined();
  });
});
