import type { ServerResponse } from "node:http";
import {
  answer,
  type EverythingServer,
  startEverything,
  startMcpServer,
  startMessagesApi,
  toolCall,
  toolResultsOf,
} from "@drover/testing";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { Conversation, isType, typesOf } from "./support/conversation.ts";
import { handsPid, sandboxPids } from "./support/host.ts";
import { lastWords, script } from "./support/last-words.ts";
import { until } from "./support/until.ts";
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

const partsOf = (name: string, url: string, policy: object = ALLOWED) => ({
  mcp_servers: [{ type: "url" as const, name, url }],
  tools: [{ type: "mcp_toolset" as const, mcp_server_name: name, default_config: policy }],
});

async function open(url: string, options: { policy?: object; vault_ids?: string[] } = {}) {
  const { policy, ...rest } = options;
  return await Conversation.open(world, { ...partsOf("everything", url, policy), ...rest });
}

const calling = (tool: string, input = {}) => toolCall(`mcp__everything__${tool}`, input);

type AnswerCall = (respond: (text: string) => void) => void;

/** A server of ours with the tool `work`, each call of which is answered as it is told to. */
async function openServer(
  answerCall: AnswerCall,
  { token, onList = () => true }: { token?: string; onList?: () => boolean } = {},
) {
  const seen: string[] = [];
  const server = await startMcpServer();
  onTestFinished(async () => await server[Symbol.asyncDispose]());
  server.override = ({ method: verb, headers, body }, response) => {
    const isWelcome = token === undefined || headers.authorization === `Bearer ${token}`;
    if (!isWelcome) response.writeHead(401).end();
    else if (verb !== "POST") response.writeHead(405).end();
    else answerMessage(JSON.parse(body), response);
    return true;
  };
  const answerMessage = (message: { id?: number; method: string }, response: ServerResponse) => {
    const { id, method } = message;
    seen.push(method);
    if (id === undefined) return response.writeHead(202).end();
    const respond = (result: object) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    };
    if (method === "tools/call") {
      return answerCall((text) => respond({ content: [{ type: "text", text }] }));
    }
    if (method !== "tools/list") return respond(INITIALIZED);
    return onList() && respond({ tools: [{ name: "work" }] });
  };
  const calls = () => seen.filter((method) => method === "tools/call").length;
  return { url: server.url, calls, seen };
}

const INITIALIZED = {
  protocolVersion: "2025-06-18",
  capabilities: { tools: {} },
  serverInfo: { name: "ours", version: "1" },
};

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

test("a picture that a tool gives is shown to the model", async () => {
  const talk = await open(everything.url);
  await talk.say(script(answer(calling("get-tiny-image")), answer("seen")));
  await talk.afterTurns(1);
  const [result] = [...toolResultsOf(world.model.requests.at(-1) ?? failed()).values()];
  expect(JSON.stringify(result)).toContain("image/png");
});

test("a call waits for its user, who is asked by the official client's own event", async () => {
  const talk = await open(everything.url, { policy: {} });
  await talk.say(script(answer(calling("echo", { message: "hello" })), answer("done")));
  await talk.afterTurns(1);
  const { id } = await talk.event(isType("agent.mcp_tool_use"));
  expect((await talk.event(isType("session.status_idle"))).stop_reason).toEqual({
    type: "requires_action",
    event_ids: [id],
  });
  await talk.send({ type: "user.tool_confirmation", tool_use_id: id, result: "allow" });
  expect((await talk.event(isType("agent.mcp_tool_result"))).is_error).toBe(false);
});

test("a call outlives the server of Drover that sent it, and is made once", async () => {
  const { promise: respond, resolve: called } = Promise.withResolvers<(text: string) => void>();
  const server = await openServer(called);
  const talk = await open(server.url);
  await talk.say(script(answer(calling("work")), answer("done")));
  const respondNow = await respond;
  await world.kill();
  respondNow("worked on");
  await world.start();
  const history = await talk.afterTurns(1);
  expect(history.filter(isType("agent.mcp_tool_result"))).toMatchObject([
    { content: [{ type: "text", text: "worked on" }], is_error: false },
  ]);
  expect(server.calls()).toBe(1);
});

test("a call whose hands die is an error, and is not made again", async () => {
  const { promise: isCalled, resolve: called } = Promise.withResolvers<unknown>();
  const server = await openServer(called);
  const talk = await open(server.url);
  await talk.say(script(answer(calling("work")), answer("I go on")));
  await isCalled;
  process.kill(handsPid(world) ?? failed(), "SIGKILL");
  const history = await talk.afterTurns(1);
  const [result] = history.filter(isType("agent.mcp_tool_result"));
  expect(result?.is_error).toBe(true);
  expect(JSON.stringify(result?.content)).toContain("not run again");
  expect(server.calls()).toBe(1);
});

test("servers are asked again by other hands where those that asked them died", async () => {
  const { promise: isListing, resolve: listing } = Promise.withResolvers<void>();
  let lists = 0;
  const server = await openServer((respond) => respond("worked"), {
    onList: () => {
      lists += 1;
      if (lists === 1) listing();
      return lists > 1;
    },
  });
  const talk = await open(server.url);
  await talk.say(script(answer(calling("work")), answer("done")));
  await isListing;
  process.kill(handsPid(world) ?? failed(), "SIGKILL");
  const history = await talk.afterTurns(1);
  expect(history.filter(isType("session.error"))).toEqual([]);
  expect(history.find(isType("agent.mcp_tool_result"))?.is_error).toBe(false);
});

test("an interrupt ends a call, and its server is told", async () => {
  const { promise: isCalled, resolve: called } = Promise.withResolvers<unknown>();
  const server = await openServer(called);
  const talk = await open(server.url);
  await talk.say(script(answer(calling("work")), answer("never")));
  await isCalled;
  await talk.interrupt();
  const history = await talk.afterTurns(1);
  expect(typesOf(history).slice(-5)).toEqual([
    "agent.mcp_tool_result",
    "user.interrupt",
    "session.thread_status_idle",
    "session.usage",
    "session.status_idle",
  ]);
  await until("word of it", () => server.seen.includes("notifications/cancelled") || undefined);
});

test("a server that comes later is used from the next turn on", async () => {
  const gone = await openServer((respond) => respond("here I am"));
  const talk = await open("http://127.0.0.1:9/mcp");
  await talk.say("hello");
  const history = await talk.afterTurns(1);
  expect(history.filter(isType("session.error")).map(({ error }) => error)).toMatchObject([
    {
      ...{ type: "mcp_connection_failed_error", mcp_server_name: "everything" },
      retry_status: { type: "retrying" },
    },
  ]);
  await world.client.beta.sessions.update(talk.id, { agent: partsOf("everything", gone.url) });
  await talk.say(script(answer(calling("work")), answer("done")));
  const later = await talk.afterTurns(2);
  expect(JSON.stringify(later.find(isType("agent.mcp_tool_result"))?.content)).toContain(
    "here I am",
  );
});

test("the token of a vault reaches its server and nobody else", async () => {
  const token = "bearer-canary-4711";
  const server = await openServer((respond) => respond(`your token is ${token}`), { token });
  const vault = await world.client.beta.vaults.create({ display_name: "vault" });
  await world.client.beta.vaults.credentials.create(vault.id, {
    auth: { type: "static_bearer", token, mcp_server_url: server.url },
  });
  const talk = await open(server.url, { vault_ids: [vault.id] });
  await talk.say(script(answer(calling("work")), answer("done")));
  const history = await talk.afterTurns(1);
  expect(history.filter(isType("session.error"))).toEqual([]);
  expect(history.find(isType("agent.mcp_tool_result"))).toMatchObject({
    ...{ is_error: false, content: [{ text: "your token is ******************" }] },
  });
  const without = await open(server.url);
  await without.say("hello");
  expect((await without.event(isType("session.error"))).error.type).toBe(
    "mcp_authentication_failed_error",
  );
  const everywhere = JSON.stringify([history, world.model.requests, world.log]);
  expect(everywhere).not.toContain("canary");
});

function failed(): never {
  throw new Error("there is none");
}
