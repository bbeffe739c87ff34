import { describe, expect, test } from "vitest";
import { testDrafting } from "../../testing/logs.ts";
import type { PriceList } from "../pricing/price-list.ts";
import type { RequestEnd } from "../session/log-event.ts";
import { requestClosed, requestEnded } from "./request-end.ts";

const flat = (price: number) => ({
  input: price,
  output: price,
  cache_read: price,
  cache_write_5m: price,
  cache_write_1h: price,
});
const prices: PriceList = {
  tokens: ({ id, speed }) => {
    if (id === "unpriced") return undefined;
    return flat(speed === "fast" ? 20 : 10);
  },
  hour: 0,
  search: 0,
};
const usage = { input_tokens: 3, output_tokens: 2 };
const ended = (
  end: Omit<RequestEnd, "cost">,
  model: { id: string; speed?: "fast" } = { id: "m" },
) => {
  return requestEnded({ ...testDrafting(), prices, model }, "start_1", end);
};

describe("the end of a model request", () => {
  test.each<[string, Omit<RequestEnd, "cost">, string | undefined]>([
    ["an answer", { outcome: "response", usage }, "50"],
    ["an answer that told no tokens", { outcome: "response", usage: {} }, undefined],
    [
      "an answer that told only some",
      { outcome: "response", usage: { output_tokens: 2 } },
      undefined,
    ],
    ["a failure that told some", { outcome: "failed", usage: { input_tokens: 3 } }, "30"],
    ["a failure that told nothing", { outcome: "failed" }, undefined],
  ])("keeps what %s costs, as far as that is known", (_what, end, cost) => {
    expect(ended(end).private).toEqual({ ...end, ...(cost !== undefined && { cost }) });
  });

  test("has no cost where the model has no price", () => {
    expect(ended({ outcome: "response", usage }, { id: "unpriced" }).private).not.toHaveProperty(
      "cost",
    );
  });

  test("shows the speed and costs its price if that is fast", () => {
    const fast = ended({ outcome: "response", usage }, { id: "m", speed: "fast" });
    expect(fast).toMatchObject({
      public: { model_usage: { ...usage, speed: "fast" } },
      private: { cost: "100" },
    });
    expect(ended({ outcome: "response", usage }).public).not.toHaveProperty("model_usage.speed");
  });

  test("has what was reported until then, if it is given up", () => {
    const drafting = { ...testDrafting(), prices, usageOf: () => ({ input_tokens: 4 }) };
    const request = { id: "start_1", attempt: 1, purpose: "turn", calls: [], held: null } as const;
    expect(requestClosed(drafting, request, "interrupted")).toMatchObject({
      public: { is_error: true, model_usage: { input_tokens: 4, output_tokens: 0 } },
      private: { outcome: "interrupted", usage: { input_tokens: 4 }, cost: "40" },
    });
  });
});
