import { answer, overloaded, rateLimited, toolCall, toolResultsOf } from "@drover/testing";
import { describe, expect, test } from "vitest";
import {
  Conversation,
  isType,
  messagesOf,
  resultsOf,
  type SessionEvent,
  typesOf,
  userMessage,
} from "./support/conversation.ts";
import { endWait, handsPid, longSleep, processesWith, waiting } from "./support/host.ts";
import { holdBack, script } from "./support/last-words.ts";
import { until } from "./support/until.ts";
import { newWorld, useWorld } from "./support/world.ts";

const world = useWorld();

const INTERRUPTED = "Tool execution was interrupted before completion. Please retry.";
/** How a turn begins, and how it ends when it was interrupted. */
const BEGINNING = ["session.status_running", "session.thread_status_running", "user.message"];
const ENDING = [
  "user.interrupt",
  "session.thread_status_idle",
  "session.usage",
  "session.status_idle",
];
const NEVER = { firstMs: 600_000 };

test("while hands and sandbox are being made, the call is answered and never run", async () => {
  const world = await newWorld();
  // They have the place of others, and stand still before anybody can find them.
  const hands = await world.startStoppedHands("hands.start.after_lock:1");
  await world.start();
  const talk = await Conversation.open(world);
  const marker = longSleep();
  await talk.say(script(answer(toolCall("bash", { command: `sleep ${marker}` }))));
  await talk.event(isType("agent.tool_use"));
  await talk.interrupt();
  const history = await talk.afterTurns(1);
  expect(typesOf(history).slice(-5)).toEqual(["agent.tool_result", ...ENDING]);
  expect(resultsOf(history)).toEqual([{ text: INTERRUPTED, isError: true }]);
  expectEndTurn(history);
  process.kill(hands, "SIGCONT");
  await talk.say(script(answer(toolCall("bash", { command: "echo works" })), answer("done")));
  expect(resultsOf(await talk.afterTurns(2)).at(-1)).toEqual({ text: "works", isError: false });
  expect(handsPid(world)).toBe(hands);
  expect(processesWith(marker)).toEqual([]);
});

describe.concurrent("an interrupt", () => {
  test("in one request with its message ends the turn without a model request", async () => {
    const talk = await Conversation.open(world());
    await world().client.beta.sessions.events.send(talk.id, {
      events: [userMessage("never answered"), { type: "user.interrupt" }],
    });
    const history = await talk.afterTurns(1);
    expect(typesOf(history)).toEqual([...BEGINNING, ...ENDING]);
    expectEndTurn(history);
    await expectNextTurnWorks(talk);
  });

  test("right behind its message ends that turn, whatever it had begun", async () => {
    const talk = await Conversation.open(world());
    await talk.say(script({ ...answer("too late"), pacing: NEVER }));
    await talk.interrupt();
    const history = await talk.afterTurns(1);
    expect(typesOf(history).filter((type) => !type.startsWith("span."))).toEqual([
      ...BEGINNING,
      ...ENDING,
    ]);
    expectEndTurn(history);
    await expectNextTurnWorks(talk);
  });

  test("while the model speaks closes the preview with the span and keeps no half message", async () => {
    const talk = await Conversation.open(world());
    const listening = await talk.listen(["agent.message"]);
    const words = "a long answer that will never be whole ".repeat(500);
    await talk.say(script({ ...answer(words), pacing: { delayMs: 50, chunkChars: 10 } }));
    const delta = await listening.event(({ type }) => type === "event_delta");
    await talk.interrupt();
    const history = await talk.afterTurns(1);
    await listening.event(({ type }) => type === "session.status_idle");
    expect(typesOf(history)).toEqual([
      ...BEGINNING,
      "span.model_request_start",
      "span.model_request_end",
      ...ENDING,
    ]);
    expect(history.find(isType("span.model_request_end"))).toMatchObject({ is_error: true });
    const types = typesOf(listening.events);
    expect(types.lastIndexOf("event_delta")).toBeLessThan(types.indexOf("span.model_request_end"));
    expect(types).not.toContain("agent.message");
    const shown = delta.type === "event_delta" ? delta.event_id : "";
    expect(history.map(({ id }) => id)).not.toContain(shown);
    await listening.close();
    await expectNextTurnWorks(talk);
    const asked = world().model.requests.findLast(({ body }) =>
      JSON.stringify(body).includes("will never be whole"),
    );
    expect(JSON.stringify(asked?.body["messages"])).not.toContain('"assistant"');
  });

  test("while a tool runs ends its processes, answers the call and keeps the sandbox", async () => {
    const talk = await Conversation.open(world());
    const marker = longSleep();
    const command = `echo kept > kept; echo begun; sleep ${marker}`;
    await talk.say(script(answer(toolCall("bash", { command }))));
    await until("the command", () => processesWith(marker)[0]);
    await talk.interrupt();
    const history = await talk.afterTurns(1);
    expect(typesOf(history).slice(-5)).toEqual(["agent.tool_result", ...ENDING]);
    expect(resultsOf(history)).toEqual([
      { text: expect.stringContaining(INTERRUPTED), isError: true },
    ]);
    expectEndTurn(history);
    expect(processesWith(marker)).toEqual([]);
    await talk.say(script(answer(toolCall("bash", { command: "cat kept" })), answer("done")));
    expect(resultsOf(await talk.afterTurns(2)).at(-1)).toEqual({ text: "kept", isError: false });
  });

  test("while several tools run or wait answers each of them once", async () => {
    const talk = await Conversation.open(world());
    const marker = longSleep();
    const calls = ["first", "second", "third"].map((name) =>
      toolCall("bash", { command: `echo ${name} >> order; sleep ${marker}` }),
    );
    await talk.say(script(answer(...calls)));
    await until("the command", () => processesWith(marker)[0]);
    await talk.interrupt();
    const history = await talk.afterTurns(1);
    const uses = history.filter(isType("agent.tool_use")).map(({ id }) => id);
    const answered = history.filter(isType("agent.tool_result")).map((event) => event.tool_use_id);
    expect(uses).toHaveLength(3);
    expect(answered.toSorted()).toEqual(uses.toSorted());
    await talk.say(script(answer(toolCall("bash", { command: "cat order" })), answer("done")));
    expect(resultsOf(await talk.afterTurns(2)).at(-1)).toEqual({ text: "first", isError: false });
  });

  test("during a back-off ends the turn without another attempt", async () => {
    const talk = await Conversation.open(world());
    await talk.say(script(rateLimited(600)));
    await talk.event(isType("session.status_rescheduled"));
    await until("the status", async () => (await talk.status()) === "rescheduling" || undefined);
    await talk.interrupt();
    const history = await talk.afterTurns(1);
    expect(typesOf(history).slice(-4)).toEqual(ENDING);
    expectEndTurn(history);
    expect(history.filter(isType("span.model_request_start"))).toHaveLength(1);
    expect(await talk.status()).toBe("idle");
    await expectNextTurnWorks(talk);
  });

  test("of an idle session is recorded and changes nothing", async () => {
    const talk = await Conversation.open(world());
    await talk.interrupt();
    const recorded = await talk.event(
      (event) => event.type === "user.interrupt" && typeof event.processed_at === "string",
    );
    expect(await talk.history()).toEqual([recorded]);
    expect(await talk.status()).toBe("idle");
    await expectNextTurnWorks(talk, 1);
  });

  test("jumps over the messages that wait, which start the next turn", async () => {
    const talk = await Conversation.open(world());
    await talk.say(script({ ...answer("too late"), pacing: NEVER }));
    await talk.event(isType("span.model_request_start"));
    await talk.say("one", "two");
    await talk.interrupt();
    const history = await talk.afterTurns(2);
    expect(typesOf(history)).toEqual([
      ...BEGINNING,
      "span.model_request_start",
      "span.model_request_end",
      ...ENDING,
      ...BEGINNING,
      "user.message",
      "span.model_request_start",
      "agent.message",
      "span.model_request_end",
      ...ENDING.slice(1),
    ]);
  });
});

describe.concurrent("interrupts and messages in any order", () => {
  test("lose no message and take each up once, in the order of their arrival", async () => {
    const talk = await Conversation.open(world());
    const sent: string[] = [];
    for (let index = 0; index < 30; index++) {
      if (index % 3 === 2) await talk.interrupt();
      else await talk.say(sent[sent.push(`message ${index}`) - 1] ?? "");
    }
    await talk.say("the last");
    const history = await until("the last answer", async () => {
      const events = await talk.history();
      return messagesOf(events).some((text) => text.endsWith("the last")) ? events : undefined;
    });
    const taken = history.filter(isType("user.message")).map(({ content }) => content);
    expect(taken).toEqual([...sent, "the last"].map((text) => [{ type: "text", text }]));
    expect(history.filter((event) => event.type === "user.interrupt")).toHaveLength(10);
    expect(history.filter(isType("session.error"))).toEqual([]);
  });

  test("that come at once end one turn; those left over change nothing", async () => {
    const talk = await Conversation.open(world());
    await talk.say(script({ ...answer("too late"), pacing: NEVER }));
    await talk.event(isType("span.model_request_start"));
    await Promise.all(Array.from({ length: 5 }, () => talk.interrupt()));
    await talk.say("go on");
    const history = await talk.afterTurns(2);
    expect(history.filter((event) => event.type === "user.interrupt")).toHaveLength(5);
    expect(messagesOf(history)).toEqual(["You said: go on"]);
  });
});

describe.concurrent("a message in a running turn", () => {
  test("is taken up with the results of the call before it, and the session is not idle between", async () => {
    const talk = await Conversation.open(world());
    const marker = longSleep();
    await talk.say(script(answer(toolCall("bash", { command: waiting(marker) }))));
    await until("the command", () => processesWith(marker)[0]);
    await talk.say("steer to the left");
    await endWait(marker);
    const history = await talk.afterTurns(1);
    expect(typesOf(history)).toEqual([
      ...BEGINNING,
      "span.model_request_start",
      "agent.tool_use",
      "span.model_request_end",
      "agent.tool_result",
      "user.message",
      "span.model_request_start",
      "agent.message",
      "span.model_request_end",
      ...ENDING.slice(1),
    ]);
    const asked = world().model.requests.find((request) =>
      JSON.stringify(request.body["messages"]).includes("steer to the left"),
    );
    expect(asked && toolResultsOf(asked).size).toBe(1);
  });

  test("is taken up instead of ending the turn", async () => {
    const talk = await Conversation.open(world());
    const first = holdBack(answer("the first answer"));
    await talk.say(script(first.answer));
    await talk.event(isType("span.model_request_start"));
    await talk.say("and more");
    first.letGo();
    const history = await talk.afterTurns(1);
    expect(messagesOf(history)).toEqual(["the first answer", "You said: and more"]);
    expect(history.filter(isType("session.status_running"))).toHaveLength(1);
  });

  test("during a back-off is shown to the attempt that follows", async () => {
    const talk = await Conversation.open(world());
    await talk.say(script(overloaded()));
    await talk.event(isType("session.status_rescheduled"));
    await talk.say("while you wait");
    const history = await talk.afterTurns(1);
    expect(messagesOf(history)).toEqual(["You said: while you wait"]);
    expect(history.filter(isType("user.message"))).toHaveLength(2);
  });
});

function expectEndTurn(history: readonly SessionEvent[]): void {
  expect(history.findLast(isType("session.status_idle"))).toMatchObject({
    stop_reason: { type: "end_turn" },
    stop_details: null,
  });
}

async function expectNextTurnWorks(talk: Conversation, turns = 2): Promise<void> {
  await talk.say("are you there?");
  expect(messagesOf(await talk.afterTurns(turns)).at(-1)).toBe("You said: are you there?");
}
