import {
  answer,
  judgedCallOf,
  type MessagesRequest,
  text,
  toolCall,
  toolResultsOf,
} from "@drover/testing";
import { describe, expect, test } from "vitest";
import type { McpServerListed } from "../core/ports/mcp-servers.ts";
import type { LogEvent, LogEventOf } from "../core/session/log-event.ts";
import type { MemoryMcpServer, MemoryTool } from "../hands/fake/memory-hands.ts";
import { type BrainWorld, createBrainWorld } from "../testing/brain.ts";
import { brokenLogRules, comparableLog } from "../testing/log-rules.ts";

const ALLOW = { enabled: true, permission_policy: { type: "always_allow" } };
const ASK = { enabled: true, permission_policy: { type: "always_ask" } };
const AGENT = {
  tools: [
    { type: "mcp_toolset", mcp_server_name: "wiki", default_config: ALLOW, configs: [] },
    {
      type: "mcp_toolset",
      mcp_server_name: "mail",
      default_config: ASK,
      configs: [{ name: "read", ...ALLOW }],
    },
  ],
  mcp_servers: [
    { type: "url", name: "wiki", url: "https://wiki.test/mcp" },
    { type: "url", name: "mail", url: "https://mail.test/mcp" },
  ],
};
const tool = (name: string) => ({
  name,
  description: `the tool ${name}`,
  input_schema: { type: "object" as const },
});
const LISTED: Readonly<Record<string, Omit<McpServerListed, "name">>> = {
  wiki: { tools: [tool("search")] },
  mail: { tools: [tool("read"), tool("send")] },
};

/** Searches and reads at once, then says so. */
const SEARCH_AND_READ = (request: MessagesRequest) =>
  toolResultsOf(request).size > 0
    ? answer(text("Done."))
    : answer(
        text("I look."),
        toolCall("mcp__wiki__search", { query: "q" }),
        toolCall("mcp__mail__read", { id: 1 }),
      );

interface Options {
  readonly serve?: MemoryMcpServer;
  readonly script?: Parameters<typeof createBrainWorld>[0]["script"];
  readonly tools?: Readonly<Record<string, MemoryTool>>;
  readonly agent?: Pick<typeof AGENT, "mcp_servers"> & { tools: Record<string, unknown>[] };
}

const TOOLS = {
  "wiki/search": () => "found",
  "mail/read": () => "a letter",
  "mail/send": () => "sent",
};

const world = ({ serve, script, tools, agent = AGENT }: Options = {}) =>
  createBrainWorld({
    script: script ?? SEARCH_AND_READ,
    tools: tools ?? TOOLS,
    mcp: { agent, serve: serve ?? (({ name }) => LISTED[name] ?? { tools: [] }) },
  });

async function started(brain: BrainWorld, ...said: readonly string[]) {
  const key = await brain.newSession();
  await brain.send(key, ...(said.length > 0 ? said : ["Look."]));
  return key;
}

async function settled(brain: BrainWorld): Promise<void> {
  for (let processes = 0; processes < 5; processes++) {
    const { trace } = await brain.run();
    if (trace.length === 2) return;
  }
  throw new Error("the session does not come to rest");
}

const typesOf = (log: readonly LogEvent[]) => log.map(({ type }) => type);
const of = <T extends LogEvent["type"]>(log: readonly LogEvent[], type: T) =>
  log.filter((event): event is Extract<LogEventOf<T>, LogEvent> => event.type === type);
const offeredIn = (brain: BrainWorld) =>
  brain.api.requests.map(({ body }) => {
    const tools = body["tools"];
    if (!Array.isArray(tools)) return [];
    const names = tools.map((each) => String(Object(each)["name"]));
    return names.filter((name) => name.startsWith("mcp__"));
  });

const ALL = ["mcp__wiki__search", "mcp__mail__read", "mcp__mail__send"];

describe("one process dies, another goes on", async () => {
  await using reference = await world();
  const referenceKey = await started(reference);
  const { trace } = await reference.run();
  const expected = await reference.log(referenceKey);
  const steps = trace.map((name, index) => ({ name, killAt: index + 1 }));

  test("the servers are asked once, before the first request, and calls go to them", () => {
    expect(typesOf(expected)).toEqual([
      "session.status_running",
      "session.thread_status_running",
      "user.message",
      "drover.mcp_tools_listed",
      "span.model_request_start",
      "agent.message",
      "agent.mcp_tool_use",
      "agent.mcp_tool_use",
      "span.model_request_end",
      "drover.call_started",
      "drover.call_started",
      "agent.mcp_tool_result",
      "agent.mcp_tool_result",
      "span.model_request_start",
      "agent.message",
      "span.model_request_end",
      "session.thread_status_idle",
      "session.usage",
      "session.status_idle",
    ]);
    const uses = of(expected, "agent.mcp_tool_use").map((event) => event.public);
    expect(uses).toMatchObject([
      { mcp_server_name: "wiki", name: "search", input: { query: "q" } },
      { mcp_server_name: "mail", name: "read", evaluated_permission: "allow" },
    ]);
    expect(offeredIn(reference)).toEqual([ALL, ALL]);
    expect(trace).toContain("before list tools");
  });

  test.each(steps)("killed $name (step $killAt), the log is the same", async ({ killAt }) => {
    await using brain = await world();
    const key = await started(brain);
    await brain.run(killAt);
    await settled(brain);
    const log = await brain.log(key);
    expect(brokenLogRules(log)).toEqual([]);
    expect(comparableLog(log)).toEqual(comparableLog(expected));
    expect(brain.hands.executions).toHaveLength(2);
    expect(offeredIn(brain).every((names) => names.length === ALL.length)).toBe(true);
  });

  test.each(steps)(
    "killed $name (step $killAt) with the hands, no call runs twice",
    async (step) => {
      await using brain = await world();
      const key = await started(brain);
      await brain.run(step.killAt);
      brain.hands.kill();
      await settled(brain);
      expect(brokenLogRules(await brain.log(key))).toEqual([]);
      const runs = brain.hands.executions.map(({ callId }) => callId);
      expect(new Set(runs).size).toBe(runs.length);
    },
  );
});

test("a server that fails is told of once a turn, and the turn goes on without its tools", async () => {
  let asked = 0;
  await using brain = await world({
    script: () => answer(text("Hello.")),
    serve: ({ name }) => {
      asked += 1;
      if (name === "wiki") return LISTED["wiki"] ?? { tools: [] };
      const type = asked > 2 ? "authentication" : "connection";
      return { tools: [], error: { type, message: "It is not there." } };
    },
  });
  const key = await started(brain);
  await brain.run();
  await brain.send(key, "Again.");
  await brain.run();
  const log = await brain.log(key);
  expect(of(log, "session.error").map((event) => event.public.error)).toEqual(
    ["mcp_connection_failed_error", "mcp_authentication_failed_error"].map((type) => ({
      ...{ type, mcp_server_name: "mail", message: "It is not there." },
      retry_status: { type: "retrying" },
    })),
  );
  expect(offeredIn(brain)).toEqual([["mcp__wiki__search"], ["mcp__wiki__search"]]);
  expect(of(log, "agent.message")).toHaveLength(2);
});

test("servers that answered are not asked again by the next turn", async () => {
  let asked = 0;
  await using brain = await world({
    script: () => answer(text("Hello.")),
    serve: ({ name }) => {
      asked += 1;
      return LISTED[name] ?? { tools: [] };
    },
  });
  const key = await started(brain);
  await brain.run();
  await brain.send(key, "Again.");
  await brain.run();
  expect(asked).toBe(2);
  expect(of(await brain.log(key), "drover.mcp_tools_listed")).toHaveLength(1);
  expect(offeredIn(brain)).toEqual([ALL, ALL]);
});

test("an interrupt ends the turn while the servers are asked", async () => {
  const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
  await using brain = await world({
    serve: async (_server, signal) => {
      asked();
      return await new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(new Error("nobody asks any more")));
      });
    },
  });
  const key = await started(brain);
  const running = brain.run();
  await isAsked;
  await brain.send(key, "interrupt");
  await running;
  expect(typesOf(await brain.log(key)).slice(3)).toEqual([
    "user.interrupt",
    "session.thread_status_idle",
    "session.usage",
    "session.status_idle",
  ]);
});

test("a tool that asks waits for its user, whose yes runs it and whose no is told", async () => {
  await using brain = await world({
    script: (request) =>
      toolResultsOf(request).size > 0
        ? answer(text("Done."))
        : answer(toolCall("mcp__mail__send", { n: 1 }), toolCall("mcp__mail__send", { n: 2 })),
  });
  const key = await started(brain);
  await brain.run();
  const uses = of(await brain.log(key), "agent.mcp_tool_use");
  expect(uses.map((event) => event.public.evaluated_permission)).toEqual(["ask", "ask"]);
  const [first, second] = uses.map(({ id }) => id);
  await brain.post(
    key,
    { type: "user.tool_confirmation", tool_use_id: first ?? "", result: "allow" },
    { type: "user.tool_confirmation", tool_use_id: second ?? "", result: "deny" },
  );
  await brain.run();
  const log = await brain.log(key);
  expect(brokenLogRules(log)).toEqual([]);
  const results = of(log, "agent.mcp_tool_result").map((event) => event.public);
  expect(results.find(({ mcp_tool_use_id }) => mcp_tool_use_id === first)).toMatchObject({
    ...{ content: [{ type: "text", text: "sent" }], is_error: false },
  });
  expect(results.find(({ mcp_tool_use_id }) => mcp_tool_use_id === second)?.is_error).toBe(true);
  expect(brain.hands.executions).toHaveLength(1);
});

test("a call under auto is judged before it is shown, and what the judge denies is not made", async () => {
  const auto = { enabled: true, permission_policy: { type: "auto" } };
  const toolset = {
    type: "mcp_toolset",
    mcp_server_name: "mail",
    default_config: auto,
    configs: [],
  };
  await using brain = await world({
    agent: { ...AGENT, tools: [toolset] },
    script: (request) => {
      const judged = judgedCallOf(request);
      if (judged !== undefined) {
        return answer(text(`{"verdict": "${judged.tool.includes("send") ? "deny" : "allow"}"}`));
      }
      return toolResultsOf(request).size > 0
        ? answer(text("Done."))
        : answer(toolCall("mcp__mail__read", { id: 1 }), toolCall("mcp__mail__send", { id: 2 }));
    },
  });
  const key = await started(brain);
  await brain.run();
  const log = await brain.log(key);
  expect(brokenLogRules(log)).toEqual([]);
  expect(of(log, "agent.mcp_tool_use").map((event) => event.public)).toMatchObject([
    { name: "read", evaluated_permission: "allow", evaluation: { type: "auto" } },
    { name: "send", evaluated_permission: "deny", evaluation: { type: "auto" } },
  ]);
  expect(of(log, "agent.mcp_tool_result").map((event) => event.public.is_error)).toEqual(
    expect.arrayContaining([true, false]),
  );
  expect(brain.hands.executions).toHaveLength(1);
});

test("a server that has other tools now is asked again before the next request", async () => {
  let asked = 0;
  await using brain = await world({
    serve: ({ name }) => {
      asked += 1;
      const isNew = asked > 2 && name === "wiki";
      return isNew ? { tools: [tool("search"), tool("edit")] } : (LISTED[name] ?? { tools: [] });
    },
    tools: {
      ...TOOLS,
      "wiki/search": () => ({ content: [{ type: "text", text: "found" }], tools_changed: true }),
    },
  });
  await started(brain);
  await brain.run();
  expect(offeredIn(brain)).toEqual([
    ALL,
    ["mcp__wiki__search", "mcp__wiki__edit", ...ALL.slice(1)],
  ]);
});
