import Anthropic, { APIError } from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import type { AgentCreateParams } from "@anthropic-ai/sdk/resources/beta/agents/agents";
import { answer, createTestDatabase, text, toolCall } from "@drover/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { startServer, temporaryFolder } from "../support/drover.ts";
import {
  Conversation,
  type EventParams,
  isType,
  messagesOf,
  resultsOf,
  type SessionEvent,
  typesOf,
} from "./support/conversation.ts";
import { script } from "./support/last-words.ts";
import { until } from "./support/until.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();

type Tools = NonNullable<AgentCreateParams["tools"]>;
const toolset = (
  type: "always_ask" | "auto" | "always_allow",
  configs: Extract<Tools[number], { type: "agent_toolset_20260401" }>["configs"] = [],
): Tools => [
  { type: "agent_toolset_20260401", default_config: { permission_policy: { type } }, configs },
];
const WEATHER = {
  type: "custom" as const,
  name: "get_weather",
  description: "Tells the weather of a city.",
  input_schema: { type: "object" as const, properties: { city: { type: "string" } } },
};
const bash = (command: string) => toolCall("bash", { command });

const allow = (id: string): EventParams => {
  return { type: "user.tool_confirmation", tool_use_id: id, result: "allow" };
};
const deny = (id: string, deny_message: string): EventParams => {
  return { type: "user.tool_confirmation", tool_use_id: id, result: "deny", deny_message };
};
const said = (id: string, word: string): EventParams => ({
  type: "user.custom_tool_result",
  custom_tool_use_id: id,
  content: [{ type: "text", text: word }],
});

function callsOf(events: readonly SessionEvent[]): readonly string[] {
  return events
    .filter(({ type }) => type === "agent.tool_use" || type === "agent.custom_tool_use")
    .map(({ id }) => id);
}

function stopOf(events: readonly SessionEvent[]) {
  return events.findLast(isType("session.status_idle"))?.stop_reason;
}

async function refused(request: Promise<unknown>): Promise<APIError> {
  const error = await request.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof APIError)) throw new Error("the request was not refused");
  return error;
}

test("a session whose tools ask waits over a restart of its server, with nothing held, and goes on with the answer", async () => {
  const talk = await Conversation.open(world(), { tools: toolset("always_ask") });
  await talk.say(script(answer(bash("echo one"), bash("echo two")), answer("done")));
  const [first = "", second = ""] = callsOf(await talk.afterTurns(1));
  expect(stopOf(await talk.history())).toEqual({
    type: "requires_action",
    event_ids: [first, second],
  });
  expect(await talk.status()).toBe("idle");
  await world().restart();
  await talk.send(deny(second, "Two is too many."));
  expect(stopOf(await talk.afterTurns(2))).toEqual({
    type: "requires_action",
    event_ids: [first],
  });
  await world().restart();
  await talk.send(allow(first));
  const history = await talk.afterTurns(3);
  expect(stopOf(history)).toEqual({ type: "end_turn" });
  expect(resultsOf(history).map(({ text: result, isError }) => [result, isError])).toEqual([
    [expect.stringContaining("Two is too many."), true],
    ["one", false],
  ]);
  expect(messagesOf(history)).toEqual(["done"]);
  expect((await refused(talk.send(allow(first)))).status).toBe(400);
});

describe.concurrent("answers", () => {
  test("of two at the same moment one counts, and the other is refused", async () => {
    const talk = await Conversation.open(world(), { tools: toolset("always_ask") });
    await talk.say(script(answer(bash("echo once")), answer("done")));
    const [call = ""] = callsOf(await talk.afterTurns(1));
    const sent = await Promise.allSettled([
      talk.send(allow(call)),
      talk.send(deny(call, "no")),
      talk.send(allow(call)),
    ]);
    expect(sent.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const history = await talk.afterTurns(2);
    expect(resultsOf(history)).toHaveLength(1);
    expect(history.filter(isType("user.tool_confirmation"))).toHaveLength(1);
  });

  test("of pictures, documents and search results reach the model", async () => {
    const talk = await Conversation.open(world(), { tools: [WEATHER] });
    await talk.say(script(answer(toolCall("get_weather", { city: "Rome" })), answer("done")));
    const [call = ""] = callsOf(await talk.afterTurns(1));
    const content = [
      text("sunny"),
      {
        type: "image" as const,
        source: { type: "url" as const, url: "https://example.com/a.png" },
      },
      {
        type: "document" as const,
        source: { type: "text" as const, media_type: "text/plain" as const, data: "notes" },
      },
      {
        type: "search_result" as const,
        source: "https://example.com",
        title: "Weather",
        content: [text("sunny")],
        citations: { enabled: true },
      },
    ];
    await talk.send({ type: "user.custom_tool_result", custom_tool_use_id: call, content });
    await talk.afterTurns(2);
    const request = world().model.requests.findLast(({ body }) =>
      JSON.stringify(body["messages"]).includes("example.com/a.png"),
    );
    const last = JSON.stringify(request?.body["messages"]);
    for (const type of ["image", "document", "search_result"]) expect(last).toContain(`"${type}"`);
  });

  test("with a message of the system keep nobody from changing the session once it is interrupted", async () => {
    const talk = await Conversation.open(world(), { tools: [WEATHER], model: "claude-opus-5-5" });
    const cities = ["Rome", "Oslo"].map((city) => toolCall("get_weather", { city }));
    await talk.say(script(answer(...cities), answer("done")));
    const [first = ""] = callsOf(await talk.afterTurns(1));
    const system = { type: "system.message" as const, content: [text("Be brief.")] };
    await talk.send(said(first, "sunny"), system);
    await talk.afterTurns(2);
    await talk.interrupt();
    expect(stopOf(await talk.afterTurns(3))).toEqual({ type: "end_turn" });
    expect((await talk.history()).at(-1)).toMatchObject({ ...system, processed_at: null });
    const { sessions } = world().client.beta;
    const changed = await sessions.update(talk.id, { agent: { tools: [] } });
    expect([changed.status, changed.agent.tools]).toEqual(["idle", []]);
    await talk.say("go on");
    const history = await talk.afterTurns(4);
    const [from, to] = ["system.message", "span.model_request_start"] as const;
    const types = typesOf(history);
    expect(types.indexOf(from)).toBeLessThan(types.lastIndexOf(to));
    expect(messagesOf(history)).toEqual(["You said: go on"]);
    expect((await sessions.archive(talk.id)).status).toBe("terminated");
  });

  test("to a session that was archived meanwhile are refused", async () => {
    const talk = await Conversation.open(world(), { tools: [WEATHER] });
    await talk.say(script(answer(toolCall("get_weather", { city: "Rome" })), answer("done")));
    const [call = ""] = callsOf(await talk.afterTurns(1));
    await world().client.beta.sessions.archive(talk.id);
    expect((await refused(talk.send(said(call, "sunny")))).status).toBe(400);
    expect(typesOf(await talk.history()).at(-1)).toBe("session.status_terminated");
    await world().client.beta.sessions.delete(talk.id);
  });
});

test("the official client's runner answers the calls of the tools that it has", async () => {
  const talk = await Conversation.open(world(), { tools: [WEATHER] });
  const tool = betaTool({
    name: WEATHER.name,
    description: WEATHER.description,
    inputSchema: { type: "object", properties: { city: { type: "string" } } },
    run: ({ city }) => `sunny in ${city}`,
  });
  const cities = ["Rome", "Oslo"].map((city) => toolCall(WEATHER.name, { city }));
  await talk.say(script(answer(...cities), answer("done")));
  const calls = [];
  const events = world().client.beta.sessions.events;
  for await (const call of events.toolRunner(talk.id, { tools: [tool], maxIdleMs: 100 })) {
    calls.push(call);
  }
  expect(calls.map(({ posted, isError }) => ({ posted, isError }))).toEqual([
    { posted: true, isError: false },
    { posted: true, isError: false },
  ]);
  const history = await talk.history();
  expect(stopOf(history)).toEqual({ type: "end_turn" });
  expect(history.filter(isType("user.custom_tool_result")).map(({ content }) => content)).toEqual([
    [text("sunny in Rome")],
    [text("sunny in Oslo")],
  ]);
});

test("a tool that is off is not offered, and a call of it is refused without an evaluation", async () => {
  const tools = toolset("always_allow", [{ name: "bash", enabled: false }]);
  const talk = await Conversation.open(world(), { tools });
  await talk.say(script(answer(bash("echo never")), answer("done")));
  const history = await talk.afterTurns(1);
  const call = history.find(isType("agent.tool_use"));
  expect(call).toMatchObject({ evaluated_permission: "deny" });
  expect(call).not.toHaveProperty("evaluation");
  expect(resultsOf(history)).toMatchObject([{ isError: true }]);
  const offered = JSON.stringify(world().model.requests.at(-1)?.body["tools"]);
  expect(offered).toContain('"read"');
  expect(offered).not.toContain('"bash"');
});

test("under auto a call runs, is refused or waits, as the session's own model judges it", async () => {
  const talk = await Conversation.open(world(), { tools: toolset("auto") });
  const calls = ["echo ran # allow", "echo harm # deny", "echo maybe # ask"].map(bash);
  await talk.say(script(answer(...calls), answer("done")));
  const waiting = await talk.afterTurns(1);
  expect(waiting.filter(isType("agent.tool_use")).map(({ evaluation }) => evaluation)).toEqual([
    { type: "auto", evaluated_permission: { type: "allow" } },
    { type: "auto", evaluated_permission: { type: "deny", reason_code: "high_risk" } },
    { type: "auto", evaluated_permission: { type: "ask", reason_code: "indeterminate" } },
  ]);
  const [, , maybe = ""] = callsOf(waiting);
  expect(stopOf(waiting)).toEqual({ type: "requires_action", event_ids: [maybe] });
  expect(typesOf(waiting).filter((type) => type.startsWith("drover."))).toEqual([]);
  await talk.send(allow(maybe));
  const history = await talk.afterTurns(2);
  expect(resultsOf(history).filter(({ isError }) => !isError)).toEqual([
    { text: "ran", isError: false },
    { text: "maybe", isError: false },
  ]);
});

test("on PostgreSQL, of answers to two servers at the same moment one counts", async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database[Symbol.asyncDispose]());
  const env = { DROVER_DATABASE: database.url, DROVER_DATA: temporaryFolder() };
  const servers = await Promise.all([startServer({ env }), startServer({ env })]);
  const clients = servers.map(
    ({ url, apiKey }) => new Anthropic({ baseURL: url, apiKey, maxRetries: 0 }),
  );
  const [one, two] = clients;
  if (one === undefined || two === undefined) throw new Error("there are two servers");
  const agent = await one.beta.agents.create({
    name: "worker",
    model: "offline/script",
    tools: [WEATHER],
  });
  const environment = await one.beta.environments.create({ name: "there" });
  const session = await one.beta.sessions.create({
    agent: agent.id,
    environment_id: environment.id,
  });
  const steps = "- { tool: get_weather, input: { city: Rome } }\n- say: done";
  await one.beta.sessions.events.send(session.id, {
    events: [
      {
        type: "user.message",
        content: [{ type: "text", text: `\`\`\`drover-script\n${steps}\n\`\`\`` }],
      },
    ],
  });
  const history = async () => {
    const events: SessionEvent[] = [];
    for await (const event of two.beta.sessions.events.list(session.id)) events.push(event);
    return events;
  };
  const stopped = (type: string) =>
    until(`a stop with ${type}`, async () => {
      const events = await history();
      return stopOf(events)?.type === type ? events : undefined;
    });
  const [call = ""] = callsOf(await stopped("requires_action"));
  const sent = await Promise.allSettled(
    [one, two, one, two].map((client, index) =>
      client.beta.sessions.events.send(session.id, { events: [said(call, `answer ${index}`)] }),
    ),
  );
  expect(sent.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  const ended = await stopped("end_turn");
  expect(ended.filter(isType("user.custom_tool_result"))).toHaveLength(1);
  expect(messagesOf(ended)).toEqual(["done"]);
});
