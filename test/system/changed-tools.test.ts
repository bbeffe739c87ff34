import { answer, toolCall } from "@drover/testing";
import { expect, test } from "vitest";
import { Conversation, isType, messagesOf } from "./support/conversation.ts";
import { script } from "./support/last-words.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();

const ASK = {
  type: "custom" as const,
  name: "ask_the_user",
  description: "Asks the user.",
  input_schema: { type: "object" as const, properties: {} },
};
const TOOLSET = { type: "agent_toolset_20260401" as const };

test("tools can be changed while a call waits for its answer, which is taken all the same", async () => {
  const { sessions } = world().client.beta;
  const talk = await Conversation.open(world(), { tools: [TOOLSET, ASK] });
  await talk.say(script(answer(toolCall("ask_the_user", {})), answer("thanks")));
  const waiting = await talk.afterTurns(1);
  const [call] = waiting.filter(isType("agent.custom_tool_use"));
  const idle = waiting.filter(isType("session.status_idle")).at(-1);
  expect(idle?.stop_reason).toMatchObject({ type: "requires_action", event_ids: [call?.id] });
  await sessions.update(talk.id, { agent: { tools: [] } });
  await world().restart();
  await world().client.beta.sessions.events.send(talk.id, {
    events: [
      {
        type: "user.custom_tool_result",
        custom_tool_use_id: call?.id ?? "",
        content: [{ type: "text", text: "blue" }],
      },
    ],
  });
  expect(messagesOf(await talk.afterTurns(2))).toEqual(["thanks"]);
  const last = JSON.stringify(world().model.requests.at(-1)?.body);
  expect(last).toContain("blue");
  // The definition of the tool is gone, its call is not.
  expect(last).not.toContain("Asks the user.");
});

test("a process that has driven the session before has its new tools in the next turn", async () => {
  const { sessions } = world().client.beta;
  const talk = await Conversation.open(world(), { tools: [] });
  await talk.say(script(answer("hello")));
  await talk.afterTurns(1);
  for (const tools of [[TOOLSET], [ASK], [TOOLSET, ASK], []]) {
    await sessions.update(talk.id, { agent: { tools } });
    const history = await talk.history();
    const updated = history.filter(isType("session.updated")).at(-1);
    expect(updated?.agent).toEqual((await sessions.retrieve(talk.id)).agent);
    const before = history.filter(isType("session.status_idle")).length;
    await talk.say(script(answer("on")));
    await talk.afterTurns(before + 1);
    const sent = JSON.stringify(world().model.requests.at(-1)?.body["tools"] ?? []);
    expect([sent.includes("ask_the_user"), sent.includes('"bash"')]).toEqual([
      tools.some(({ type }) => type === "custom"),
      tools.some(({ type }) => type !== "custom"),
    ]);
  }
});
