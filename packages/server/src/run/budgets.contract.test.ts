import type { Budget } from "@drover/api";
import { answer, type Script, text, toolCall, toolResultsOf } from "@drover/testing";
import { describe, expect, test } from "vitest";
import { updateSession } from "../app/sessions-update.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { PriceList } from "../core/pricing/price-list.ts";
import type { LogEvent } from "../core/session/log-event.ts";
import { type BrainWorld, createBrainWorld } from "../testing/brain.ts";
import { brokenLogRules } from "../testing/log-rules.ts";

/** Five cents for a thousand tokens of output, nothing for the rest. */
const PRICES: PriceList = {
  tokens: () => ({
    input: 0,
    output: 50_000_000,
    cache_read: 0,
    cache_write_5m: 0,
    cache_write_1h: 0,
  }),
  hour: 0,
  search: 0,
};

const limit = (amount: string): Budget => ({
  type: "limit",
  max_list_cost: { amount, currency: "USD" },
});

/** Reads a, which costs five cents, and says what is in it, which costs five more. */
const READ_THEN_SAY: Script = (request) => ({
  ...(toolResultsOf(request).size > 0
    ? answer(text("It says: content of a."))
    : answer(toolCall("read", { file_path: "a" }))),
  usage: { output_tokens: 1_000 },
});

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
});
