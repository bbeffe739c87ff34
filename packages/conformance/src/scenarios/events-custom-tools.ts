import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { accepted, assertHas, assertRefused } from "../support/expect.ts";
import { newAgent, newSession } from "../support/fixtures.ts";
import { interrupt, send, sendText } from "../support/sending.ts";
import { message, script } from "../support/turns.ts";
import { eventsOf, onlyOf, type StreamEventOf, Watch } from "../support/watch.ts";
import type { Target } from "../target.ts";

const WEATHER = {
  type: "custom" as const,
  name: "get_weather",
  description: "Tells the weather of a city.",
  input_schema: {
    type: "object" as const,
    properties: { city: { type: "string" } },
    required: ["city"],
  },
};
const ASK = script(`
- { tool: get_weather, input: { city: Rome } }
- say: "In Rome: {{result | trim}}"
`);
const ASK_TWICE = script(`
- parallel:
    - { tool: get_weather, input: { city: Rome } }
    - { tool: get_weather, input: { city: Oslo } }
- say: "{{result.1 | trim}} and {{result.2 | trim}}"
`);

/** Tools that the client runs. */
export const eventsCustomTools: readonly Scenario[] = [
  scenario(
    "a custom tool's call waits for its client, whose result the model is told",
    {
      verifies: ["events.agent.custom-tool-use", "events.stop.requires-action"],
      rows: [55],
      needs: ["scripted-model"],
    },
    async (t) => {
      const { id, watch } = await withTool(t, ASK);
      const turn = await watch.turn();
      const call = onlyOf(turn, "agent.custom_tool_use");
      assertHas(call, { name: "get_weather", input: { city: "Rome" } });
      assert(!("evaluated_permission" in call));
      assertHas(turn.at(-1) ?? {}, {
        stop_reason: { type: "requires_action", event_ids: [call.id] },
        stop_details: null,
      });
      await answer(t, id, call, "sunny");
      const second = (await watch.turn(2)).slice(turn.length);
      assert.deepEqual(onlyOf(second, "agent.message").content, text("In Rome: sunny"));
      assert(second.some(({ type }) => type === "session.status_running"));
      assertHas(second.at(-1) ?? {}, { stop_reason: { type: "end_turn" } });
      // An answer takes effect once.
      assertRefused(await send(t, id, [resultOf(call, "rainy")]), { status: 400 });
      await watch.close();
    },
  ),
  scenario(
    "a result may come before the session is idle",
    {
      verifies: ["events.custom-result.early", "wrong.17.early-answer"],
      rows: [56],
      needs: ["scripted-model"],
    },
    async (t) => {
      const { id, watch } = await withTool(t, ASK);
      const call = await watch.untilType("agent.custom_tool_use");
      await answer(t, id, call, "sunny");
      const said = await watch.untilType("agent.message");
      assert.deepEqual(said.content, text("In Rome: sunny"));
      await watch.close();
    },
  ),
  scenario(
    "answers to some of the calls leave the session idle with the rest",
    {
      verifies: ["events.stop.partial-answers", "wrong.17.remainder"],
      rows: [57],
      needs: ["scripted-model"],
    },
    async (t) => {
      const { id, watch } = await withTool(t, ASK_TWICE);
      const turn = await watch.turn();
      const [rome, oslo] = eventsOf(turn, "agent.custom_tool_use");
      assert(rome !== undefined && oslo !== undefined);
      assert.deepEqual(waitsFor(turn.at(-1)), [rome.id, oslo.id]);
      await answer(t, id, oslo, "snow");
      const partial = await watch.turn(2);
      assert.deepEqual(waitsFor(partial.at(-1)), [rome.id]);
      await answer(t, id, rome, "sun");
      const said = await watch.untilType("agent.message");
      assert.deepEqual(said.content, text("sun and snow"));
      await watch.close();
    },
  ),
  scenario(
    "a result may hold text, images, documents and search results, or nothing",
    {
      verifies: ["events.content.tool-results"],
      rows: [64],
      needs: ["scripted-model"],
    },
    async (t) => {
      const blocks = [
        { type: "text", text: "sunny" },
        { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
        { type: "document", source: { type: "text", media_type: "text/plain", data: "notes" } },
        {
          type: "search_result",
          source: "https://example.com",
          title: "Weather",
          content: [{ type: "text", text: "sunny" }],
          citations: { enabled: true },
        },
      ];
      for (const content of [blocks, [], undefined]) {
        const { id, watch } = await withTool(t, ASK);
        const call = await watch.untilType("agent.custom_tool_use");
        const event = { ...resultOf(call, ""), content };
        const [echo] = accepted(await send(t, id, [event])).data;
        assertHas(echo, { custom_tool_use_id: call.id });
        assert.deepEqual(echo.content ?? content, content);
        await watch.untilType("agent.message");
        await watch.close();
      }
    },
  ),
  scenario(
    "a thread that a client names with its answer is ignored, and the primary one's is not echoed",
    {
      verifies: ["events.answers.echo-thread", "wrong.18.thread-ignored"],
      rows: [55],
      needs: ["scripted-model"],
    },
    async (t) => {
      const { id, watch } = await withTool(t, ASK);
      const call = await watch.untilType("agent.custom_tool_use");
      assert(!("session_thread_id" in call) || call.session_thread_id === null);
      const event = { ...resultOf(call, "sunny"), session_thread_id: "sthr_of_nobody" };
      const [echo] = accepted(await send(t, id, [event])).data;
      assert(echo.session_thread_id === undefined || echo.session_thread_id === null);
      assert.deepEqual((await watch.untilType("agent.message")).content, text("In Rome: sunny"));
      await watch.close();
    },
  ),
  scenario(
    "an interrupt ends a session's wait for its client",
    {
      verifies: ["events.interrupt.waiting-calls"],
      rows: [55],
      needs: ["scripted-model"],
    },
    async (t) => {
      const { id, watch } = await withTool(t, ASK);
      const call = onlyOf(await watch.turn(), "agent.custom_tool_use");
      await interrupt(t, id);
      assertHas((await watch.turn(2)).at(-1) ?? {}, { stop_reason: { type: "end_turn" } });
      assertRefused(await send(t, id, [resultOf(call, "late")]), { status: 400 });
      await sendText(t, id, script("- say: next"));
      assert.deepEqual((await watch.untilType("agent.message")).content, text("next"));
      await watch.close();
    },
  ),
  scenario(
    "a system.message reaches the model as a system turn, if the model takes such",
    {
      verifies: ["events.system.accepted", "events.system.model"],
      rows: [63],
      needs: ["scripted-model"],
    },
    async (t) => {
      const session = await newSession(t);
      const watch = await Watch.open(t, session.id);
      const system = { type: "system.message", content: text("Be brief.") };
      const user = message(script("- say: hello"));
      const [, echo] = accepted(await send(t, session.id, [user, system])).data;
      assertHas(echo, { type: "system.message", content: system.content });
      const taken = await watch.until((event) => "id" in event && event.id === echo.id);
      assert.equal(taken.type, "system.message");
      await watch.turn();
      await watch.close();
      const old = await newAgent(t, { model: "claude-3-haiku-20240307" });
      const other = await newSession(t, { agent: old.id });
      assertRefused(await send(t, other.id, [message("hello"), system]), {
        status: 400,
        code: "model_does_not_support_mid_conversation_system",
      });
    },
  ),
  scenario(
    "a session that waits for a result takes a system.message along with it only",
    { verifies: ["events.system.requires-action"], rows: [63], needs: ["scripted-model"] },
    async (t) => {
      const { id, watch } = await withTool(t, ASK);
      const turn = await watch.turn();
      const call = onlyOf(turn, "agent.custom_tool_use");
      const system = { type: "system.message", content: text("Be brief.") };
      assertRefused(await send(t, id, [system]), { status: 400 });
      assertRefused(await send(t, id, [message("And?"), system]), { status: 400 });
      const [, echo] = accepted(await send(t, id, [resultOf(call, "sunny"), system])).data;
      assertHas(echo, { type: "system.message", content: system.content });
      const second = (await watch.turn(2)).slice(turn.length);
      assert.deepEqual(onlyOf(second, "agent.message").content, text("In Rome: sunny"));
      await watch.close();
    },
  ),
];

async function withTool(t: Target, script: string): Promise<{ id: string; watch: Watch }> {
  const agent = await newAgent(t, { tools: [WEATHER] });
  const { id } = await newSession(t, { agent: agent.id });
  const watch = await Watch.open(t, id);
  await sendText(t, id, script);
  return { id, watch };
}

type Call = Pick<StreamEventOf<"agent.custom_tool_use">, "id">;

function resultOf(call: Call, said: string) {
  return {
    type: "user.custom_tool_result" as const,
    custom_tool_use_id: call.id,
    content: text(said),
  };
}

async function answer(t: Target, sessionId: string, call: Call, said: string): Promise<void> {
  await t.client.beta.sessions.events.send(sessionId, { events: [resultOf(call, said)] });
}

function waitsFor(event: object | undefined): readonly string[] {
  const idle = onlyOf([event as { type: string }], "session.status_idle");
  assert.equal(idle.stop_reason.type, "requires_action");
  return "event_ids" in idle.stop_reason ? idle.stop_reason.event_ids : [];
}

function text(said: string) {
  return [{ type: "text" as const, text: said }];
}
