import type { Budget } from "@drover/api";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { PriceList } from "../core/pricing/price-list.ts";
import type { LogEvent } from "../core/session/log-event.ts";
import { brokenLogRules } from "../testing/log-rules.ts";
import { type ClientAct, type Reply, SimulatedSession } from "../testing/simulated-session.ts";

/** A cent for a hundred tokens of output, and for a minute. In picodollars. */
const CENT = 10 ** 10;
const TOKEN = CENT / 100;
const MINUTE_MS = 60_000;
const PRICES: PriceList = {
  tokens: () => ({ input: 0, output: TOKEN, cache_read: 0, cache_write_5m: 0, cache_write_1h: 0 }),
  hour: 60 * CENT,
  search: 0,
};

type Op =
  | {
      readonly type: "settle";
      readonly which: number;
      readonly reply: Reply;
      readonly acts: readonly ClientAct[];
    }
  | { readonly type: "act"; readonly act: ClientAct }
  | { readonly type: "pass"; readonly ms: number }
  | { readonly type: "drive"; readonly acts: readonly ClientAct[] }
  | { readonly type: "die" };

const usage = fc
  .integer({ min: 0, max: 900 })
  .map((output_tokens) => ({ input_tokens: 10, output_tokens }));
const reply: fc.Arbitrary<Reply> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant("calls" as const), usage }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("text" as const), usage }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("failure" as const),
      usage: fc.option(usage, { nil: undefined }),
    }),
  },
);
const act: fc.Arbitrary<ClientAct> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<ClientAct>({ type: "message" }) },
  { weight: 1, arbitrary: fc.constant<ClientAct>({ type: "interrupt" }) },
  { weight: 3, arbitrary: fc.constant<ClientAct>({ type: "confirm" }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("budget" as const),
      cents: fc.integer({ min: -3, max: 12 }),
    }),
  },
);
// What a client says to a call comes to a driver that has heard of it: see `isContested`.
const between = fc.array(
  act.filter(({ type }) => type !== "confirm"),
  { maxLength: 2 },
);
const op: fc.Arbitrary<Op> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant("settle" as const),
      which: fc.nat(5),
      reply,
      acts: between,
    }),
  },
  { weight: 4, arbitrary: fc.record({ type: fc.constant("act" as const), act }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant("pass" as const), ms: fc.nat(3 * MINUTE_MS) }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("drive" as const), acts: between }) },
  { weight: 1, arbitrary: fc.constant<Op>({ type: "die" }) },
);

const limit = (amount: number): Budget => ({
  type: "limit",
  max_list_cost: { amount: String(amount), currency: "USD" },
});

function perform(session: SimulatedSession, one: Op): void {
  switch (one.type) {
    case "settle": {
      const { effects } = session;
      const effect = effects[one.which % Math.max(effects.length, 1)];
      if (effect === undefined) session.drive([], one.acts);
      else session.settle(effect, one.reply, one.acts);
      return;
    }
    case "act":
      session.act(one.act);
      return;
    case "pass":
      session.pass(one.ms);
      return;
    case "drive":
      session.drive([], one.acts);
      return;
    case "die":
      session.die();
      return;
  }
}

/** Goes on until nothing happens by itself any more; each call is allowed, each answer a short text. */
function finish(session: SimulatedSession): void {
  const short: Reply = { type: "text", usage: { input_tokens: 1, output_tokens: 1 } };
  for (let step = 0; step < 500; step++) {
    const count = session.log.length;
    session.drive();
    const [effect] = session.effects;
    if (effect !== undefined) session.settle(effect, short);
    else if (session.log.length === count) session.act({ type: "confirm" });
    if (session.log.length === count) return;
  }
  throw new Error("it goes on for ever");
}

/** What the log says was consumed before an event, reckoned in a way of its own. */
function consumedBefore(log: readonly LogEvent[], at: LogEvent): number {
  let tokens = 0;
  let activeMs = 0;
  let since: number | undefined;
  for (const event of log) {
    if (event.seq >= at.seq) break;
    const ms = Date.parse(event.processed_at);
    if (event.type === "span.model_request_end") {
      tokens += event.private.usage?.output_tokens ?? 0;
    }
    if (event.type === "session.status_running") since ??= ms;
    if (event.type === "session.status_idle" || event.type === "session.status_rescheduled") {
      activeMs += ms - (since ?? ms);
      since = undefined;
    }
  }
  if (since !== undefined) activeMs += Date.parse(at.processed_at) - since;
  return tokens * TOKEN + (activeMs * CENT) / MINUTE_MS;
}

/** In picodollars; infinite for none. */
function budgetBefore(log: readonly LogEvent[], at: LogEvent): number {
  let cents = Number.POSITIVE_INFINITY;
  for (const event of log) {
    if (event.seq >= at.seq) break;
    const budget =
      event.type === "drover.budget_set"
        ? event.private.budget
        : event.type === "session.updated"
          ? event.public.budget
          : undefined;
    if (budget === undefined) continue;
    cents = budget === null ? Number.POSITIVE_INFINITY : Number(budget.max_list_cost.amount);
  }
  return cents * CENT;
}

/** One thread, so one request at a time: nothing but the last one may lie above the budget. */
function requestsAtBudget(log: readonly LogEvent[]): readonly LogEvent[] {
  return log.filter((event) => {
    return (
      event.type === "span.model_request_start" &&
      consumedBefore(log, event) >= budgetBefore(log, event)
    );
  });
}

function lastStop(log: readonly LogEvent[]) {
  const last = log.findLast((event) => event.type === "session.status_idle");
  if (last?.type !== "session.status_idle") throw new Error("it never came to rest");
  return { seq: last.seq, event: last, reason: last.public.stop_reason.type };
}

/** Undefined as long as no request has told anything. */
function shownCents(log: readonly LogEvent[]): number | undefined {
  const shown = log.findLast((event) => event.type === "session.usage");
  if (shown?.type !== "session.usage") throw new Error("usage was never shown");
  const { list_cost: cost } = shown.public.usage;
  return cost === undefined ? undefined : Number(cost.amount);
}

/** With the budget gone, what was held goes on, and all that was accepted has its place. */
function assertNothingLost(session: SimulatedSession): void {
  const { log } = session;
  const { seq, event, reason } = lastStop(log);
  expect(reason).not.toBe("budget_reached");
  expect(brokenLogRules(log.slice(0, seq))).toEqual([]);
  const quiet = log.slice(seq).map(({ type }) => type);
  expect(["user.interrupt", "session.updated"]).toEqual(expect.arrayContaining(quiet));
  expect(session.inbox).toEqual([]);
  const messages = log.filter(({ type }) => type === "user.message").map(({ id }) => id);
  expect(messages.toSorted()).toEqual(session.accepted.toSorted());
  expect(session.row.status).toBe("idle");
  const shown = shownCents(log);
  const hasCost = log.some((one) => {
    return one.type === "span.model_request_end" && one.private.cost !== undefined;
  });
  if (hasCost) expect(shown).toBeDefined();
  // It is rounded, and half a cent may be rounded either way here.
  if (shown !== undefined) {
    expect(Math.abs(shown - consumedBefore(log, event) / CENT)).toBeLessThanOrEqual(0.51);
  }
}

test("whatever happens in whatever order, no request is made at the budget, and nothing is lost", () => {
  let held = 0;
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.array(op, { minLength: 5, maxLength: 60 }),
      (cents, ops) => {
        const session = new SimulatedSession(limit(cents), PRICES);
        session.act({ type: "message" });
        for (const one of ops) perform(session, one);
        finish(session);
        const { log } = session;
        const { event, reason } = lastStop(log);
        if (reason === "budget_reached") {
          held += 1;
          expect(consumedBefore(log, event) + 1).toBeGreaterThanOrEqual(budgetBefore(log, event));
        }
        session.act({ type: "remove" });
        finish(session);
        expect(requestsAtBudget(log)).toEqual([]);
        assertNothingLost(session);
      },
    ),
    { numRuns: 400 },
  );
  expect(held).toBeGreaterThan(40);
});
