import type { Budget } from "@drover/api";
import {
  type Answer,
  answer,
  judgedCallOf,
  type MessagesRequest,
  type Script,
  text,
  toolCall,
  toolResultsOf,
} from "@drover/testing";
import { describe, expect, test } from "vitest";
import { sendEvents } from "../app/events.ts";
import { updateSession } from "../app/sessions-update.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { PriceList } from "../core/pricing/price-list.ts";
import type { LogEvent } from "../core/session/log-event.ts";
import { type BrainWorld, createBrainWorld } from "../testing/brain.ts";
import { brokenLogRules, comparableLog } from "../testing/log-rules.ts";
import type { DriveDeps } from "./deps.ts";

/** Five cents for a thousand tokens of output, nothing for the rest. */
const TOKEN_PRICES = {
  input: 0,
  output: 50_000_000,
  cache_read: 0,
  cache_write_5m: 0,
  cache_write_1h: 0,
};
const PRICES: PriceList = { tokens: () => TOKEN_PRICES, hour: 0, search: 0 };

const limit = (amount: string): Budget => ({
  type: "limit",
  max_list_cost: { amount, currency: "USD" },
});

const cost = (one: Answer): Answer => ({ ...one, usage: { output_tokens: 1_000 } });

const answerOf = (request: MessagesRequest): Answer =>
  toolResultsOf(request).size > 0
    ? answer(text("It says: content of a."))
    : answer(toolCall("read", { file_path: "a" }));

/** Reads a, which costs five cents, and says what is in it, which costs five more. */
const READ_THEN_SAY: Script = (request) => cost(answerOf(request));

const world = () =>
  createBrainWorld({
    script: READ_THEN_SAY,
    tools: { read: () => "content of a" },
    prices: PRICES,
  });

function setBudget(brain: BrainWorld, key: SessionKey, budget: Budget | null) {
  const update = { params: { budget }, prices: PRICES };
  return brain.store.write((tx) => updateSession(tx, key, update));
}

function post(brain: BrainWorld, key: SessionKey, ...types: readonly ("message" | "interrupt")[]) {
  const events = types.map((type) =>
    type === "interrupt"
      ? { type: "user.interrupt" as const }
      : { type: "user.message" as const, content: [{ type: "text" as const, text: "And b." }] },
  );
  return brain.store.write((tx) =>
    sendEvents(tx, key, { events, isWatched: false, findModel: () => undefined }),
  );
}

/** One process after another until one finds nothing to do. */
async function settled(brain: BrainWorld): Promise<void> {
  for (let processes = 0; processes < 6; processes++) {
    const { trace } = await brain.run();
    if (trace.length === 2) return;
  }
  throw new Error("the session does not come to rest");
}

/** Does something just before the nth append of the driver is asked for, so that it is committed first. */
function justBefore(brain: BrainWorld, nth: number, act: () => Promise<unknown>) {
  let count = 0;
  const acted: Promise<unknown>[] = [];
  const deps: DriveDeps = {
    ...brain.deps,
    failPoint: (name) => {
      if (name !== "serve.append.before") return;
      count += 1;
      if (count === nth) acted.push(act());
    },
  };
  return { deps, acted };
}

const stops = (log: readonly LogEvent[]) =>
  log.flatMap((event) =>
    event.type === "session.status_idle" ? [event.public.stop_reason.type] : [],
  );

describe("a session at its budget", () => {
  test("waits before its next request, with its result kept, and shows what it has consumed", async () => {
    await using brain = await world();
    const key = await brain.newSession(limit("5"));
    await brain.send(key, "Read a.");
    await brain.run();
    const log = await brain.log(key);
    expect(brokenLogRules(log)).toEqual([]);
    expect(log.map(({ type }) => type)).toEqual([
      "drover.budget_set",
      "session.status_running",
      "session.thread_status_running",
      "user.message",
      "span.model_request_start",
      "agent.tool_use",
      "span.model_request_end",
      "drover.call_started",
      "agent.tool_result",
      "session.thread_status_idle",
      "session.usage",
      "session.status_idle",
    ]);
    expect(log.slice(-3).map((event) => event.public)).toMatchObject([
      { stop_reason: { type: "budget_reached" }, stop_details: null },
      {
        usage: { output_tokens: 1_000, list_cost: { amount: "5", currency: "USD" } },
        budget: limit("5"),
      },
      { stop_reason: { type: "budget_reached" }, stop_details: null },
    ]);
    expect(await brain.store.sessions.find(key)).toMatchObject({ status: "idle" });
  });

  test.each<[string, Budget | null]>([
    ["raised", limit("6")],
    ["removed", null],
  ])("goes on by itself once it is %s, with the same turn", async (_what, budget) => {
    await using brain = await world();
    const key = await brain.newSession(limit("5"));
    await brain.send(key, "Read a.");
    await brain.run();
    expect(await setBudget(brain, key, budget)).toMatchObject({ budget, status: "running" });
    await brain.run();
    const log = await brain.log(key);
    expect(brokenLogRules(log)).toEqual([]);
    expect(log.slice(12).map(({ type }) => type)).toEqual([
      "session.updated",
      "session.status_running",
      "session.thread_status_running",
      "span.model_request_start",
      "agent.message",
      "span.model_request_end",
      "session.thread_status_idle",
      "session.usage",
      "session.status_idle",
    ]);
    expect(log[12]?.public).toEqual({ budget });
    expect(log.at(-2)?.public).toMatchObject({ usage: { list_cost: { amount: "10" } }, budget });
    expect(stops(log)).toEqual(["budget_reached", "end_turn"]);
  });

  test("takes nothing that would start more work, and nothing of a request that has some of it", async () => {
    await using brain = await world();
    const key = await brain.newSession(limit("5"));
    await brain.send(key, "Read a.");
    await brain.run();
    const refusal = { code: "budget_reached", message: expect.stringContaining("events.1") };
    await expect(post(brain, key, "interrupt", "message")).rejects.toMatchObject(refusal);
    expect(await brain.store.events.getInbox(key)).toEqual([]);
    const { data } = await post(brain, key, "interrupt");
    expect(data).toMatchObject([{ type: "user.interrupt" }]);
    await brain.run();
    const log = await brain.log(key);
    expect(log.at(-1)).toMatchObject({ type: "user.interrupt" });
    expect(stops(log)).toEqual(["budget_reached"]);
    await setBudget(brain, key, null);
    await settled(brain);
    expect(stops(await brain.log(key))).toEqual(["budget_reached", "end_turn"]);
    expect((await brain.log(key)).filter(({ type }) => type === "agent.message")).toHaveLength(1);
    await post(brain, key, "message");
  });

  test("is not held by a budget that is only raised to what was consumed, and can be lowered to more", async () => {
    await using brain = await world();
    const key = await brain.newSession(limit("5"));
    await brain.send(key, "Read a.");
    await brain.run();
    const refusal = { code: "budget_not_raised", message: expect.stringContaining("$0.05 ") };
    await expect(setBudget(brain, key, limit("4"))).rejects.toMatchObject(refusal);
    await expect(setBudget(brain, key, limit("5"))).rejects.toMatchObject(refusal);
    await setBudget(brain, key, limit("100"));
    await settled(brain);
    expect(await setBudget(brain, key, limit("11"))).toMatchObject({ budget: limit("11") });
    await expect(setBudget(brain, key, limit("10"))).rejects.toMatchObject({
      code: "budget_not_raised",
    });
    expect(await setBudget(brain, key, null)).toMatchObject({ budget: null, status: "idle" });
    await expect(setBudget(brain, key, limit("50"))).rejects.toMatchObject({
      code: "budget_create_only",
    });
  });

  test("an interrupt that comes after the budget was raised ends the turn, though it did not run yet", async () => {
    await using brain = await world();
    const key = await brain.newSession(limit("5"));
    await brain.send(key, "Read a.");
    await brain.run();
    await setBudget(brain, key, limit("50"));
    await post(brain, key, "interrupt");
    await settled(brain);
    const log = await brain.log(key);
    expect(brokenLogRules(log)).toEqual([]);
    expect(stops(log)).toEqual(["budget_reached", "end_turn"]);
    expect(log.filter(({ type }) => type === "span.model_request_start")).toHaveLength(1);
    expect(await brain.store.sessions.find(key)).toMatchObject({ status: "idle" });
  });

  test("is also one that has used what cannot be measured: then only removing the budget helps", async () => {
    await using brain = await createBrainWorld({
      script: (request) => ({ ...answerOf(request), usage: { input_tokens: null } }),
      tools: { read: () => "content of a" },
      prices: PRICES,
    });
    const key = await brain.newSession(limit("500"));
    await brain.send(key, "Read a.");
    await brain.run();
    const log = await brain.log(key);
    expect(stops(log)).toEqual(["budget_reached"]);
    expect(log.at(-2)?.public).not.toHaveProperty("usage.list_cost");
    await expect(setBudget(brain, key, limit("1000"))).rejects.toMatchObject({
      code: "model_not_budgetable",
    });
    await setBudget(brain, key, null);
    await settled(brain);
    expect(stops(await brain.log(key))).toEqual(["budget_reached", "end_turn"]);
  });

  test("has no calls judged, which would be more requests, before the budget is raised", async () => {
    await using brain = await createBrainWorld({
      script: (request) => {
        if (judgedCallOf(request) !== undefined) return cost(answer(text('{"verdict":"allow"}')));
        if (toolResultsOf(request).size > 0) return cost(answer(text("Done.")));
        return cost(answer(toolCall("auto_bash", { command: "ls" })));
      },
      offered: ["auto_bash"],
      tools: { "*": () => "done" },
      prices: PRICES,
    });
    const key = await brain.newSession(limit("5"));
    await brain.send(key, "List.");
    await brain.run();
    const held = await brain.log(key);
    expect(held.slice(-4).map(({ type }) => type)).toEqual([
      "drover.response_held",
      "session.thread_status_idle",
      "session.usage",
      "session.status_idle",
    ]);
    expect(stops(held)).toEqual(["budget_reached"]);
    expect(held.at(-2)?.public).toMatchObject({ usage: { list_cost: { amount: "5" } } });
    await setBudget(brain, key, limit("500"));
    await settled(brain);
    const log = await brain.log(key);
    expect(brokenLogRules(log)).toEqual([]);
    expect(stops(log)).toEqual(["budget_reached", "end_turn"]);
    // The call, its judge and the answer.
    expect(log.at(-2)?.public).toMatchObject({ usage: { list_cost: { amount: "15" } } });
  });
});

describe("whoever dies", async () => {
  /** Held at its budget, then raised, then at the end of its turn. */
  async function played(brain: BrainWorld, kill: { held?: number; raised?: number }) {
    const key = await brain.newSession(limit("5"));
    await brain.send(key, "Read a.");
    const first = await brain.run(kill.held);
    await settled(brain);
    await setBudget(brain, key, limit("6"));
    const second = await brain.run(kill.raised);
    await settled(brain);
    return { log: await brain.log(key), steps: [first.trace, second.trace] as const };
  }
  const reference = await (async () => {
    await using brain = await world();
    return await played(brain, {});
  })();
  const cases = reference.steps.flatMap((trace, run) =>
    trace.map((name, index) => ({
      name,
      when: run === 0 ? "before the turn is held" : "after the budget was raised",
      kill: run === 0 ? { held: index + 1 } : { raised: index + 1 },
    })),
  );

  test("there are steps to die at", () => {
    expect(stops(reference.log)).toEqual(["budget_reached", "end_turn"]);
    expect(cases.length).toBeGreaterThan(25);
  });

  test.each(cases)("$name $when ($kill), the log is the same", async ({ kill }) => {
    await using brain = await world();
    const { log } = await played(brain, kill);
    expect(brokenLogRules(log)).toEqual([]);
    expect(comparableLog(log)).toEqual(comparableLog(reference.log));
  });
});

describe("what comes at the very moment", () => {
  const appends = [1, 2, 3, 4, 5];

  test.each(appends)("a raise before append %i: the turn goes on to its end", async (nth) => {
    await using brain = await world();
    const key = await brain.newSession(limit("5"));
    await brain.send(key, "Read a.");
    const { deps, acted } = justBefore(brain, nth, () => setBudget(brain, key, limit("50")));
    await brain.run(0, deps);
    await Promise.all(acted);
    await settled(brain);
    if (acted.length === 0) {
      await setBudget(brain, key, limit("50"));
      await settled(brain);
    }
    const log = await brain.log(key);
    expect(brokenLogRules(log)).toEqual([]);
    expect(stops(log).at(-1)).toBe("end_turn");
    expect(log.filter(({ type }) => type === "agent.message")).toHaveLength(1);
  });

  test.each(appends)("a raise and an interrupt before append %i: the turn ends", async (nth) => {
    await using brain = await world();
    const key = await brain.newSession(limit("5"));
    await brain.send(key, "Read a.");
    const { deps, acted } = justBefore(brain, nth, async () => {
      await Promise.all([setBudget(brain, key, limit("50")), post(brain, key, "interrupt")]);
    });
    await brain.run(0, deps);
    await Promise.all(acted);
    await settled(brain);
    if (acted.length === 0) {
      await setBudget(brain, key, null);
      await settled(brain);
    }
    const log = await brain.log(key);
    expect(brokenLogRules(log)).toEqual([]);
    expect(stops(log).at(-1)).toBe("end_turn");
  });

  test.each(appends)(
    "a message before append %i is in the log, and answered later",
    async (nth) => {
      await using brain = await world();
      const key = await brain.newSession(limit("5"));
      await brain.send(key, "Read a.");
      const sent: unknown[] = [];
      const { deps, acted } = justBefore(brain, nth, async () => {
        // Refused if it comes too late; then nothing of it is there.
        const { data } = await post(brain, key, "message").catch(() => ({ data: [] }));
        sent.push(...data.map(({ id }) => id));
      });
      await brain.run(0, deps);
      await Promise.all(acted);
      await settled(brain);
      const held = await brain.log(key);
      expect(stops(held)).toEqual(["budget_reached"]);
      expect(await brain.store.events.getInbox(key)).toEqual([]);
      expect(await brain.store.sessions.find(key)).toMatchObject({ status: "idle" });
      await setBudget(brain, key, null);
      await settled(brain);
      const log = await brain.log(key);
      expect(brokenLogRules(log)).toEqual([]);
      expect(log.filter(({ id }) => sent.includes(id)).map(({ id }) => id)).toEqual(sent);
      expect(stops(log).at(-1)).toBe("end_turn");
    },
  );
});

describe("what a request had reported is counted", () => {
  test("when it is interrupted", async () => {
    await using brain = await createBrainWorld({
      script: () => ({
        ...answer(text("a long answer")),
        usage: { input_tokens: 70, output_tokens: 9 },
        fault: { type: "stall", afterEvents: 4 },
      }),
      tools: {},
      prices: { ...PRICES, tokens: () => ({ ...TOKEN_PRICES, input: 1_000_000_000 }) },
    });
    const key = await brain.newSession();
    const shown = Promise.withResolvers<void>();
    brain.announcements.subscribe(key.sessionId, ({ type }) => {
      if (type === "preview") shown.resolve();
    });
    await brain.send(key, "Say it.");
    const running = brain.run();
    await shown.promise;
    await brain.send(key, "interrupt");
    await running;
    const log = await brain.log(key);
    expect(log.find(({ type }) => type === "span.model_request_end")).toMatchObject({
      public: { is_error: true, model_usage: { input_tokens: 70 } },
      private: { outcome: "interrupted", usage: { input_tokens: 70 } },
    });
    expect(log.at(-2)?.public).toMatchObject({
      usage: { input_tokens: 70, list_cost: { amount: "7" } },
    });
  });
});

test("a turn that was failing when its budget held it has all its attempts once it goes on", async () => {
  let failures = 2;
  await using brain = await createBrainWorld({
    script: () => {
      failures -= 1;
      return {
        ...answer(text("Here I am.")),
        usage: { input_tokens: 70 },
        ...(failures >= 0 && {
          fault: { type: "error_event", afterEvents: 2, error_type: "overloaded_error" },
        }),
      };
    },
    tools: {},
    prices: { ...PRICES, tokens: () => ({ ...TOKEN_PRICES, input: 1_000_000_000 }) },
  });
  const key = await brain.newSession(limit("5"));
  await brain.send(key, "hello?");
  await brain.run();
  expect(stops(await brain.log(key))).toEqual(["budget_reached"]);
  const { retryBudgetMs } = brain.deps.policies;
  await brain.clock.sleepUntil(brain.clock.now() + 2 * retryBudgetMs, new AbortController().signal);
  await setBudget(brain, key, limit("1000"));
  await brain.run();
  const log = await brain.log(key);
  expect(brokenLogRules(log)).toEqual([]);
  expect(stops(log)).toEqual(["budget_reached", "end_turn"]);
  expect(brain.api.requests).toHaveLength(3);
});

test("every beginning of a log with a pause is a session that comes to rest, and goes on without its budget", async () => {
  const log = await (async () => {
    await using brain = await world();
    const key = await brain.newSession(limit("5"));
    await brain.send(key, "Read a.");
    await brain.run();
    await setBudget(brain, key, limit("6"));
    await brain.run();
    return await brain.log(key);
  })();
  await using brain = await createBrainWorld({
    script: READ_THEN_SAY,
    tools: { read: () => "content of a" },
    prices: PRICES,
    firstId: 1_000_000,
  });
  for (let length = 1; length <= log.length; length++) {
    const key = await brain.sessionWith(log.slice(0, length));
    await settled(brain);
    const removed = { public: { budget: null }, private: {} };
    const place = { thread_id: log[0]?.thread_id ?? "", cross_posted: false };
    await brain.store.write((tx) =>
      tx.events.appendReceipts(key, [
        { ...place, ...removed, id: brain.deps.newId("sevt"), type: "session.updated" },
      ]),
    );
    await brain.send(key, "Go on.");
    await settled(brain);
    const continued = await brain.log(key);
    expect(brokenLogRules(continued), `after ${length} events`).toEqual([]);
    expect(stops(continued).at(-1), `after ${length} events`).toBe("end_turn");
  }
});
