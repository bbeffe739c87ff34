import { answer, text, toolCall } from "@drover/testing";
import { describe, expect, test } from "vitest";
import { Conversation, isType, type SessionEvent, typesOf } from "./support/conversation.ts";
import { script } from "./support/last-words.ts";
import { useWorld } from "./support/world.ts";

/** A cent for a hundred tokens of output, and nothing else. */
const PRICES = { input: "0", output: "100" };
const world = useWorld({
  DROVER_MODELS: JSON.stringify([{ id: "claude-sonnet-4-6", prices: PRICES }]),
  DROVER_HOUR_PRICE: "0",
});

const limit = (amount: string) => ({
  type: "limit" as const,
  max_list_cost: { amount, currency: "USD" as const },
});
const usage = (output_tokens: number) => ({ usage: { output_tokens } });
/** A call for three cents, then an answer for one. */
const WORK = script(
  { ...answer(toolCall("bash", { command: "echo work" })), ...usage(300) },
  { ...answer(text("The work is done.")), ...usage(100) },
);
const stopsOf = (events: readonly SessionEvent[]) =>
  events.filter(isType("session.status_idle")).map(({ stop_reason }) => stop_reason.type);
const refusedAs = (error_code: string) => ({ error: { details: { error_code } } });
const sessions = () => world().client.beta.sessions;

describe.concurrent("a session at its budget", () => {
  test("pauses between two requests, shows its cost, and goes on once the budget is raised", async () => {
    const talk = await Conversation.open(world(), { budget: limit("3") });
    expect((await sessions().retrieve(talk.id)).budget).toEqual(limit("3"));
    const listening = await talk.listen();
    await talk.say(WORK);
    const paused = await talk.afterTurns(1);
    expect(typesOf(paused).slice(-4)).toEqual([
      "agent.tool_result",
      "session.thread_status_idle",
      "session.usage",
      "session.status_idle",
    ]);
    expect(paused.at(-3)).toMatchObject({ stop_reason: { type: "budget_reached" } });
    expect(paused.at(-2)).toMatchObject({
      usage: { output_tokens: 300, list_cost: { amount: "3", currency: "USD" } },
      budget: limit("3"),
    });
    expect(stopsOf(paused)).toEqual(["budget_reached"]);
    const shown = await sessions().retrieve(talk.id);
    expect(shown).toMatchObject({
      status: "idle",
      usage: { output_tokens: 300, list_cost: { amount: "3" } },
    });
    await sessions().update(talk.id, { budget: limit("1000") });
    const ended = await talk.afterTurns(2);
    expect(typesOf(ended).slice(paused.length)).toEqual([
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
    expect(ended[paused.length]).toMatchObject({ budget: limit("1000") });
    expect(stopsOf(ended)).toEqual(["budget_reached", "end_turn"]);
    await listening.event(({ type, ...rest }) => {
      return type === "session.status_idle" && JSON.stringify(rest).includes("end_turn");
    });
    await listening.close();
    const [primary] = (await sessions().threads.list(talk.id)).data ?? [];
    expect(primary?.usage).toMatchObject({ output_tokens: 400, list_cost: { amount: "4" } });
    const [first] = (await sessions().list({ limit: 100 })).data.filter(({ id }) => id === talk.id);
    expect(first).toMatchObject({ usage: { list_cost: { amount: "4" } }, budget: limit("1000") });
  });

  test("takes what settles a call and an interrupt, and nothing that comes with a message", async () => {
    const talk = await Conversation.open(world(), { budget: limit("2") });
    await talk.say(WORK);
    await talk.afterTurns(1);
    const { events } = sessions();
    const message = {
      type: "user.message" as const,
      content: [{ type: "text" as const, text: "?" }],
    };
    const both = events.send(talk.id, { events: [{ type: "user.interrupt" }, message] });
    await expect(both).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining("reached its budget"),
    });
    await talk.interrupt();
    const interrupt = await talk.event(isType("user.interrupt"));
    expect(interrupt).toMatchObject({ processed_at: expect.any(String) });
    expect(stopsOf(await talk.history())).toEqual(["budget_reached"]);
    await sessions().update(talk.id, { budget: null });
    const ended = await talk.afterTurns(2);
    expect(stopsOf(ended)).toEqual(["budget_reached", "end_turn"]);
    expect(typesOf(ended).filter((type) => type === "user.message")).toHaveLength(1);
    await expect(sessions().update(talk.id, { budget: limit("9") })).rejects.toMatchObject({
      status: 400,
      error: refusedAs("budget_create_only"),
    });
    await talk.say("And now?");
    await talk.afterTurns(3);
  });

  test("is told that its budget has to be above what it has consumed", async () => {
    const talk = await Conversation.open(world(), { budget: limit("3") });
    await talk.say(WORK);
    await talk.afterTurns(1);
    for (const amount of ["1", "3"]) {
      await expect(
        sessions().update(talk.id, { title: "not this either", budget: limit(amount) }),
      ).rejects.toMatchObject({
        status: 400,
        message: expect.stringContaining("$0.03"),
        error: refusedAs("budget_not_raised"),
      });
    }
    expect((await sessions().retrieve(talk.id)).title).toBeNull();
    expect((await sessions().update(talk.id, { budget: limit("4") })).budget).toEqual(limit("4"));
  });

  test("asks for its user first, if there is a call that waits for one", async () => {
    const asking = {
      type: "agent_toolset_20260401" as const,
      default_config: { permission_policy: { type: "always_ask" as const } },
    };
    const talk = await Conversation.open(world(), { budget: limit("3"), tools: [asking] });
    await talk.say(WORK);
    const waiting = await talk.afterTurns(1);
    expect(stopsOf(waiting)).toEqual(["requires_action"]);
    const [call] = waiting.filter(isType("agent.tool_use"));
    await talk.send({
      type: "user.tool_confirmation",
      tool_use_id: call?.id ?? "",
      result: "allow",
    });
    expect(stopsOf(await talk.afterTurns(2))).toEqual(["requires_action", "budget_reached"]);
    expect(typesOf(await talk.history())).toContain("agent.tool_result");
    await sessions().update(talk.id, { budget: limit("100") });
    expect(stopsOf(await talk.afterTurns(3)).at(-1)).toBe("end_turn");
  });
});

test("a model without a price has no cost and can have no budget", async () => {
  const unpriced = { model: "claude-opus-5-5" };
  await expect(
    Conversation.open(world(), { ...unpriced, budget: limit("5") }),
  ).rejects.toMatchObject({
    status: 400,
    error: refusedAs("model_not_budgetable"),
  });
  const talk = await Conversation.open(world(), unpriced);
  await talk.say("hello");
  const usages = (await talk.afterTurns(1)).filter(isType("session.usage"));
  expect(usages[0]?.usage.output_tokens).toBeGreaterThan(0);
  expect(usages[0]?.usage).not.toHaveProperty("list_cost");
  expect(usages[0]?.budget).toBeNull();
});

test("a pause outlives its server: raised on the next one, the turn goes on", async () => {
  const talk = await Conversation.open(world(), { budget: limit("1") });
  await talk.say(WORK);
  await talk.afterTurns(1);
  await world().restart();
  await sessions().update(talk.id, { budget: limit("50") });
  await world().restart();
  const ended = await talk.afterTurns(2);
  expect(stopsOf(ended)).toEqual(["budget_reached", "end_turn"]);
  const { usage: total } = await sessions().retrieve(talk.id);
  expect(total.list_cost).toEqual({ amount: "4", currency: "USD" });
});
