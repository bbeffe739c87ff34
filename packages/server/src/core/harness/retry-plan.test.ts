import fc from "fast-check";
import { expect, test } from "vitest";
import { DEFAULT_POLICIES } from "./policies.ts";
import { retryPlan } from "./retry-plan.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");
const DAY = 24 * 60 * 60 * 1_000;

const overloaded = {
  type: "failure",
  kind: "overloaded",
  message: "The model is overloaded",
  retryable: true,
} as const;

const plan = (
  given: { retryAfterMs?: number; failures?: number; sinceMs?: number; random?: number } = {},
) => {
  const { retryAfterMs, failures = 0, sinceMs = null, random = 0 } = given;
  const failure = { ...overloaded, ...(retryAfterMs !== undefined && { retryAfterMs }) };
  return retryPlan(failure, { failures, failingSinceMs: sinceMs }, random, DEFAULT_POLICIES, NOW);
};

test("the first failure begins the budget of time, and later ones keep its beginning", () => {
  expect(plan()).toEqual({
    type: "retry",
    message: "The model is overloaded",
    retry: { attempt: 2, at_ms: NOW + 1_000, since_ms: NOW },
  });
  expect(plan({ failures: 2, sinceMs: NOW - 5_000 })).toMatchObject({
    retry: { attempt: 4, at_ms: NOW + 4_000, since_ms: NOW - 5_000 },
  });
});

test("an API that wants to be left alone for long is asked earlier, and that is said", () => {
  expect(plan({ retryAfterMs: 90_000 })).toMatchObject({
    message: "The model is overloaded",
    retry: { at_ms: NOW + 90_000 },
  });
  expect(plan({ retryAfterMs: DAY })).toMatchObject({
    type: "retry",
    message:
      "The model is overloaded. It wants to be asked again in 86400 seconds, and is in 600 seconds.",
    retry: { at_ms: NOW + DEFAULT_POLICIES.retryAfterMaxMs },
  });
});

test("a turn gives up once its attempts or its time are spent, and says so", () => {
  expect(plan({ failures: DEFAULT_POLICIES.attemptsMax - 1 })).toEqual({
    type: "give_up",
    message: "The model is overloaded",
  });
  expect(plan({ failures: 3, sinceMs: NOW - DEFAULT_POLICIES.retryBudgetMs })).toEqual({
    type: "give_up",
    message: "The model is overloaded. The time for further attempts is over: 1800 seconds.",
  });
});

test("whatever an API asks for, a turn is given up within its budgets", () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ after: fc.option(fc.nat(400 * DAY)), random: fc.nat(999) }), {
        minLength: 10,
        maxLength: 10,
      }),
      (answers) => {
        let [now, sinceMs, failures]: [number, number | null, number] = [NOW, null, 0];
        for (const { after, random } of answers) {
          const failure = { ...overloaded, ...(after !== null && { retryAfterMs: after }) };
          const thread = { failures, failingSinceMs: sinceMs };
          const next = retryPlan(failure, thread, random / 1_000, DEFAULT_POLICIES, now);
          if (next.type === "give_up") {
            expect(now - NOW).toBeLessThanOrEqual(DEFAULT_POLICIES.retryBudgetMs);
            return;
          }
          expect(next.retry.at_ms).toBeGreaterThan(now);
          failures += 1;
          [now, sinceMs] = [next.retry.at_ms, next.retry.since_ms];
        }
        throw new Error("the turn was never given up");
      },
    ),
  );
});
