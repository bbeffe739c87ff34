import { answer, type MessagesRequest, startMessagesApi, toolCall } from "@drover/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  Conversation,
  isType,
  MODEL,
  messagesOf,
  resultsOf,
  type SessionEvent,
  typesOf,
} from "./support/conversation.ts";
import { lastWords, script } from "./support/last-words.ts";
import { World } from "./support/world.ts";

const WINDOW = 8_000;
/** Long enough that a session of a dozen turns does not fit the model. */
const CHATTER = "All of it is about the weather of the day. ".repeat(25);

let world: World;

beforeAll(async () => {
  const words = lastWords();
  const model = await startMessagesApi({
    contextTokens: WINDOW,
    script: (request: MessagesRequest) =>
      request.lastUserText.includes("Stop here.")
        ? answer("They talked about the weather.")
        : words(request),
  });
  const models = [{ id: MODEL, max_input_tokens: WINDOW }];
  world = new World(model, { DROVER_MODELS: JSON.stringify(models) });
  await world.start();
});

afterAll(async () => {
  const refusals = [...world.model.refusals];
  await world.close();
  expect(refusals).toEqual([]);
});

const compactionsIn = (events: readonly SessionEvent[]) =>
  events.filter(isType("agent.thread_context_compacted"));

/** The share of a session's input that was read from the cache, from the given event on. */
function cacheReadShare(events: readonly SessionEvent[]): number {
  const usages = events.filter(isType("span.model_request_end")).map((end) => end.model_usage);
  const read = usages.reduce((sum, usage) => sum + usage.cache_read_input_tokens, 0);
  const all = usages.reduce(
    (sum, usage) =>
      sum + usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens,
    0,
  );
  return read / all;
}

async function talk(conversation: Conversation, turns: number): Promise<SessionEvent[]> {
  let events: SessionEvent[] = [];
  for (let turn = 1; turn <= turns; turn++) {
    await conversation.say(`MANGO-${turn}. ${CHATTER}`);
    events = await conversation.afterTurns(turn);
  }
  return events;
}

test("a session outgrows its model, is compacted, survives kill -9 and looks back", async () => {
  const conversation = await Conversation.open(world);
  const listening = await conversation.listen();
  const turns = 14;
  const events = await talk(conversation, turns);
  const [compacted] = compactionsIn(events);
  expect(compacted).toEqual({
    id: expect.stringMatching(/^sevt_/),
    type: "agent.thread_context_compacted",
    processed_at: expect.any(String),
  });
  // Also on the stream, between the two requests.
  await listening.event((event) => "id" in event && event.id === compacted?.id);
  await listening.close();
  expect(typesOf(events)).not.toContain("session.error");
  const { usage } = await world.client.beta.sessions.retrieve(conversation.id);
  expect(usage.cache_read_input_tokens).toBeGreaterThan(0);
  const at = events.findIndex(({ id }) => id === compacted?.id);
  // The prompt below which this model caches nothing is a third of its small window here.
  expect(cacheReadShare(events.slice(0, at))).toBeGreaterThan(0.5);
  expect(cacheReadShare(events.slice(at))).toBeGreaterThan(0.5);

  await world.restart();
  await conversation.say(
    script(answer(toolCall("session_events", { query: "mango-1.", limit: 3 })), answer("Found.")),
  );
  const after = await conversation.afterTurns(turns + 1);
  expect(messagesOf(after).at(-1)).toBe("Found.");
  const use = after.filter(isType("agent.tool_use")).at(-1);
  expect(use).toMatchObject({ name: "session_events", evaluated_permission: "allow" });
  const [found] = resultsOf(after);
  expect(found?.isError).toBe(false);
  const first = events.find(isType("user.message"));
  expect(found?.text).toContain(`"id":"${first?.id}"`);
  expect(found?.text).toContain("MANGO-1. All of it");
  // What was found is what had been dropped from the prompt.
  const sent = JSON.stringify(world.model.requests.at(-2)?.body["messages"]);
  expect(sent).not.toContain("MANGO-1. All of it");
});

test("the tool is in no toolset: no config names it, and none switches it off", async () => {
  const { agents } = world.client.beta;
  const agentWith = (name: string) =>
    agents.create({
      name: "worker",
      model: MODEL,
      tools: [
        {
          type: "agent_toolset_20260401",
          // A client's types know the names; others are tried all the same.
          configs: [{ name: name as "bash", enabled: false }],
        },
      ],
    });
  await expect(agentWith("session_events")).rejects.toMatchObject({ status: 400 });
  const agent = await agentWith("bash");
  expect(JSON.stringify(agent.tools)).not.toContain("session_events");
  const off = await Conversation.open(world, {
    tools: [{ type: "agent_toolset_20260401", default_config: { enabled: false } }],
  });
  const events = await talk(off, 16);
  expect(compactionsIn(events).length).toBeGreaterThan(0);
  const tools = world.model.requests.at(-1)?.body["tools"];
  expect(tools).toMatchObject([{ name: "session_events" }]);
});
