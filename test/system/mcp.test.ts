import {
  answer,
  type EverythingServer,
  startEverything,
  startMessagesApi,
  toolCall,
} from "@drover/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Conversation, isType } from "./support/conversation.ts";
import { sandboxPids } from "./support/host.ts";
import { lastWords, script } from "./support/last-words.ts";
import { World } from "./support/world.ts";

/** One world with the reference server; the tests send to loopback alone. */
let world: World;
let everything: EverythingServer;

beforeAll(async () => {
  everything = await startEverything();
  world = new World(await startMessagesApi({ script: lastWords() }), {
    DROVER_EGRESS_ALLOW: "127.0.0.1/32",
  });
  await world.start();
});
afterAll(async () => {
  const refusals = [...world.model.refusals];
  await world.close();
  await everything[Symbol.asyncDispose]();
  expect(refusals).toEqual([]);
});

const ALLOWED = { permission_policy: { type: "always_allow" as const } };

async function open(url: string, policy: object = ALLOWED) {
  return await Conversation.open(world, {
    mcp_servers: [{ type: "url", name: "everything", url }],
    tools: [{ type: "mcp_toolset", mcp_server_name: "everything", default_config: policy }],
  });
}

test("a tool of the reference server is listed, called, and needs no sandbox", async () => {
  const talk = await open(everything.url);
  await talk.say(
    script(answer(toolCall("mcp__everything__echo", { message: "hello" })), answer("done")),
  );
  const history = await talk.afterTurns(1);
  const [use] = history.filter(isType("agent.mcp_tool_use"));
  expect(use).toMatchObject({
    ...{ mcp_server_name: "everything", name: "echo", input: { message: "hello" } },
    evaluated_permission: "allow",
  });
  expect(history.filter(isType("agent.mcp_tool_result"))).toMatchObject([
    {
      ...{ mcp_tool_use_id: use?.id, is_error: false },
      content: [{ type: "text", text: "Echo: hello" }],
    },
  ]);
  expect(history.filter(isType("session.error"))).toEqual([]);
  expect(sandboxPids(world)).toEqual([]);
});
