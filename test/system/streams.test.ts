import Anthropic from "@anthropic-ai/sdk";
import { accumulateManagedAgentsEvent } from "@anthropic-ai/sdk/lib/sessions/accumulate";
import { answer, text, thinking, toolCall } from "@drover/testing";
import { describe, expect, test } from "vitest";
import {
  Conversation,
  isType,
  MODEL,
  messagesOf,
  type SessionEvent,
  type StreamEvent,
  typesOf,
  userMessage,
} from "./support/conversation.ts";
import { holdBack, script } from "./support/last-words.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();

const WORDS = "some words that are long enough for several deltas of one message";

describe.concurrent("a turn", () => {
  test("has its events in the order of the contract, on the stream as in the list", async () => {
    const talk = await Conversation.open(world());
    const listening = await talk.listen();
    await talk.say(
      script(
        answer(thinking("let me see"), "I look", toolCall("bash", { command: "echo seen" })),
        answer("done"),
      ),
    );
    const history = await talk.afterTurns(1);
    await listening.event(({ type }) => type === "session.status_idle");
    expect(typesOf(history)).toEqual([
      "session.status_running",
      "session.thread_status_running",
      "user.message",
      "span.model_request_start",
      "agent.thinking",
      "agent.message",
      "agent.tool_use",
      "span.model_request_end",
      "agent.tool_result",
      "span.model_request_start",
      "agent.message",
      "span.model_request_end",
      "session.thread_status_idle",
      "session.usage",
      "session.status_idle",
    ]);
    const [queued, ...streamed] = listening.events;
    expect(queued).toEqual({ ...history[2], processed_at: null });
    expect(streamed).toEqual(history);
    expect(typesOf(streamed)).not.toContain("event_start");
    expectTimesInOrder(history);
    await listening.close();
  });

  test("says what it used just before it is idle, and the session says the same", async () => {
    const talk = await Conversation.open(world());
    const usage = { input_tokens: 21, output_tokens: 5, cache_read_input_tokens: 3 };
    await talk.say(script({ ...answer("cheap"), usage }));
    const history = await talk.afterTurns(1);
    const used = history.find(isType("session.usage"));
    expect(used?.usage).toMatchObject(usage);
    expect(history.find(isType("span.model_request_end"))?.model_usage).toMatchObject(usage);
    const session = await world().client.beta.sessions.retrieve(talk.id);
    expect(session.usage).toMatchObject(usage);
    expect(session.status).toBe("idle");
  });
});

describe.concurrent("previews", () => {
  test("grow into exactly the message that follows under their id", async () => {
    const talk = await Conversation.open(world());
    const listening = await talk.listen(["agent.message", "agent.thinking"]);
    const blocks = [thinking("let me see"), text(WORDS), text(`${WORDS} again`)];
    await talk.say(script({ ...answer(...blocks), pacing: { delayMs: 20, chunkChars: 8 } }));
    await listening.event(({ type }) => type === "session.status_idle");
    const { events } = listening;
    const messages = events.filter((event) => event.type === "agent.message");
    const [message] = messages;
    expect(messages).toHaveLength(1);
    const starts = events.filter((event) => event.type === "event_start");
    expect(starts.map(({ event }) => event)).toEqual([
      { type: "agent.thinking", id: events.find((e) => e.type === "agent.thinking")?.id },
      { type: "agent.message", id: message?.id },
    ]);
    const deltas = events.filter((event) => event.type === "event_delta");
    expect(new Set(deltas.map((delta) => delta.event_id))).toEqual(new Set([message?.id]));
    expect(deltas.length).toBeGreaterThan(5);
    expect(accumulated(events.filter(({ type }) => type.startsWith("event_")))?.content).toEqual(
      message?.content,
    );
    expect(accumulated(events)).toEqual(message);
    expect(typesOf(await talk.history()).filter((type) => type.startsWith("event_"))).toEqual([]);
    await listening.close();
  });

  test("are shown only to the stream that asked for them, and of the kind it asked for", async () => {
    const talk = await Conversation.open(world());
    const [none, thoughts, words] = [
      await talk.listen(),
      await talk.listen(["agent.thinking"]),
      await talk.listen(["agent.message"]),
    ];
    await talk.say(script({ ...answer(thinking("let me see"), WORDS), pacing: { delayMs: 20 } }));
    for (const listening of [none, thoughts, words]) {
      await listening.event(({ type }) => type === "session.status_idle");
      await listening.close();
    }
    const previews = (events: readonly StreamEvent[]) =>
      new Set(typesOf(events).filter((type) => type.startsWith("event_")));
    expect([none, thoughts, words].map(({ events }) => previews(events))).toEqual([
      new Set(),
      new Set(["event_start"]),
      new Set(["event_start", "event_delta"]),
    ]);
  });

  test("of two messages in one turn have two ids, each that of its message", async () => {
    const talk = await Conversation.open(world());
    const listening = await talk.listen(["agent.message"]);
    await talk.say(
      script(
        { ...answer(WORDS, toolCall("bash", { command: "true" })), pacing: { delayMs: 10 } },
        { ...answer(`${WORDS} twice`), pacing: { delayMs: 10 } },
      ),
    );
    await listening.event(({ type }) => type === "session.status_idle");
    const starts = listening.events.filter((event) => event.type === "event_start");
    const messages = listening.events.filter((event) => event.type === "agent.message");
    expect(starts.map(({ event }) => event.id)).toEqual(messages.map(({ id }) => id));
    expect(new Set(messages.map(({ id }) => id)).size).toBe(2);
    await listening.close();
  });
});

describe.concurrent("a client written like the official examples", () => {
  test("finishes when it sends first and opens the stream after, with a model that answers at once", async () => {
    for (let round = 0; round < 5; round++) {
      const { sessions } = world().client.beta;
      const session = await newSession();
      await sessions.events.send(session.id, { events: [userMessage(`round ${round}`)] });
      const seen = await readToIdle(await sessions.events.stream(session.id));
      expect(messagesOf(seen)).toEqual([`You said: round ${round}`]);
    }
  });

  test("finishes when it opens the stream first, turn after turn on one stream", async () => {
    const { sessions } = world().client.beta;
    const session = await newSession();
    const stream = await sessions.events.stream(session.id);
    const seen: SessionEvent[] = [];
    let round = 0;
    await sessions.events.send(session.id, { events: [userMessage("round 0")] });
    for await (const event of stream) {
      if (event.type === "agent.message") seen.push(event);
      if (event.type !== "session.status_idle") continue;
      if (++round === 3) break;
      await sessions.events.send(session.id, { events: [userMessage(`round ${round}`)] });
    }
    expect(messagesOf(seen)).toEqual([0, 1, 2].map((n) => `You said: round ${n}`));
  });

  test("finishes when the session is born with its first message", async () => {
    const { sessions } = world().client.beta;
    const session = await newSession({ initial_events: [userMessage("hello")] });
    expect(session.status).toBe("running");
    const seen = await readToIdle(await sessions.events.stream(session.id));
    expect(messagesOf(seen)).toEqual(["You said: hello"]);
  });

  test("prints the answer as it grows, from deltas", async () => {
    const { sessions } = world().client.beta;
    const session = await newSession();
    const words = holdBack({ ...answer(WORDS), pacing: { delayMs: 20 } });
    await sessions.events.send(session.id, { events: [userMessage(script(words.answer))] });
    let shown = "";
    const options = { event_deltas: ["agent.message" as const] };
    const stream = await sessions.events.stream(session.id, options);
    words.letGo();
    for await (const event of stream) {
      if (event.type === "event_delta") shown += event.delta.content.text;
      if (event.type === "session.status_idle") break;
    }
    expect(shown).toBe(WORDS);
  });

  test("sees the same on the stream of the primary thread", async () => {
    const { sessions } = world().client.beta;
    const session = await newSession();
    const [thread] = (await sessions.threads.list(session.id)).data;
    const stream = await sessions.threads.events.stream(thread?.id ?? "", {
      session_id: session.id,
    });
    await sessions.events.send(session.id, { events: [userMessage("hello")] });
    const seen: StreamEvent[] = [];
    for await (const event of stream) {
      seen.push(event);
      if (event.type === "session.thread_status_idle") break;
    }
    expect(messagesOf(seen.filter((event): event is SessionEvent => "id" in event))).toEqual([
      "You said: hello",
    ]);
  });

  test("is told that a session was deleted, and its stream ends", async () => {
    const { sessions } = world().client.beta;
    const session = await newSession();
    const stream = await sessions.events.stream(session.id);
    await sessions.delete(session.id);
    const seen: StreamEvent[] = [];
    for await (const event of stream) seen.push(event);
    expect(typesOf(seen)).toEqual(["session.deleted"]);
    await expect(sessions.retrieve(session.id)).rejects.toThrow(Anthropic.NotFoundError);
  });
});

async function newSession(
  more: Partial<Parameters<Anthropic["beta"]["sessions"]["create"]>[0]> = {},
) {
  const { agents, environments, sessions } = world().client.beta;
  const agent = await agents.create({ name: "worker", model: MODEL });
  const environment = await environments.create({ name: `environment of ${agent.id}` });
  return await sessions.create({ agent: agent.id, environment_id: environment.id, ...more });
}

async function readToIdle(stream: AsyncIterable<StreamEvent>): Promise<SessionEvent[]> {
  const seen: SessionEvent[] = [];
  for await (const event of stream) {
    if (event.type !== "event_start" && event.type !== "event_delta") seen.push(event);
    if (event.type === "session.status_idle") break;
  }
  return seen;
}

type Accumulated = ReturnType<typeof accumulateManagedAgentsEvent>;

function accumulated(events: readonly StreamEvent[]): Accumulated | undefined {
  let message: Accumulated | undefined;
  for (const event of events) message = accumulateManagedAgentsEvent(message, event);
  return message;
}

function expectTimesInOrder(history: readonly SessionEvent[]): void {
  const times = history.map((event) => ("processed_at" in event ? event.processed_at : "") ?? "");
  expect(times).toEqual(times.toSorted());
}
