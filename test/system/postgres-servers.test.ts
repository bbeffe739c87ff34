import Anthropic from "@anthropic-ai/sdk";
import type { BetaManagedAgentsBudgetLimit as Budget } from "@anthropic-ai/sdk/resources/beta/sessions/sessions";
import { createTestDatabase } from "@drover/testing";
import { expect, onTestFinished, test } from "vitest";
import { drover, type StartedServer, startServer, temporaryFolder } from "../support/drover.ts";
import { until } from "./support/until.ts";

/** Servers of one database that share a data folder, as on one machine. */
async function startTwo(): Promise<{
  readonly servers: readonly [StartedServer, StartedServer];
  readonly clients: readonly [Anthropic, Anthropic];
  readonly data: string;
}> {
  const database = await createTestDatabase();
  onTestFinished(() => database[Symbol.asyncDispose]());
  const data = temporaryFolder();
  const env = { DROVER_DATA: data, DROVER_DATABASE: database.url };
  const servers = await Promise.all([startServer({ env }), startServer({ env })]);
  return { servers, clients: [clientOf(servers[0]), clientOf(servers[1])], data };
}

function clientOf({ url, apiKey }: StartedServer): Anthropic {
  return new Anthropic({ baseURL: url, apiKey, maxRetries: 0 });
}

async function newSession(
  client: Anthropic,
  options: { readonly budget?: Budget } = {},
): Promise<string> {
  const agent = await client.beta.agents.create({
    name: "worker",
    model: "offline/script",
    tools: [{ type: "agent_toolset_20260401" }],
  });
  const environment = await client.beta.environments.create({ name: `for ${agent.id}` });
  const session = await client.beta.sessions.create({
    agent: agent.id,
    environment_id: environment.id,
    ...options,
  });
  return session.id;
}

async function send(client: Anthropic, session: string, script: string): Promise<void> {
  const text = `\`\`\`drover-script\n${script}\n\`\`\``;
  await client.beta.sessions.events.send(session, {
    events: [{ type: "user.message", content: [{ type: "text", text }] }],
  });
}

async function typesOf(client: Anthropic, session: string): Promise<string[]> {
  const types: string[] = [];
  for await (const { type } of client.beta.sessions.events.list(session, { limit: 1000 })) {
    types.push(type);
  }
  return types;
}

test("what one server takes in is answered, streamed and paged through any other", async () => {
  const { clients } = await startTwo();
  const [first, second] = clients;
  const session = await newSession(first);
  const stream = await second.beta.sessions.events.stream(session);
  await send(first, session, "- say: Hello from somewhere.");
  const seen: string[] = [];
  for await (const event of stream) {
    seen.push(event.type);
    if (event.type === "session.status_idle") break;
  }
  expect(seen).toContain("agent.message");
  expect(await typesOf(second, session)).toEqual(await typesOf(first, session));

  const page = await first.beta.sessions.events.list(session, { limit: 2 });
  const next = await second.beta.sessions.events.list(session, {
    limit: 2,
    ...(page.next_page && { page: page.next_page }),
  });
  expect(next.data).toHaveLength(2);
});

const WORK = `
- tool: bash
  input: { command: "sleep 4; echo worked" }
- say: Done.`;

test("a server that is killed loses its sessions to another one, long before a lease runs out", async () => {
  const { servers, clients } = await startTwo();
  const [first, second] = clients;
  const session = await newSession(first);
  await workIn(servers, first, session);
  servers[0].process.kill("SIGKILL");
  expect(counts(await idle(second, session))).toEqual({ results: 1, messages: 1, idles: 1 });
});

test("a server that was frozen finds its sessions driven by another one, and adds nothing", async () => {
  const { servers, clients } = await startTwo();
  const [first, second] = clients;
  const session = await newSession(first);
  await workIn(servers, first, session);
  servers[0].process.kill("SIGSTOP");
  const types = await idle(second, session);
  servers[0].process.kill("SIGCONT");
  // It answers again, and has heard by then that its leases are lost.
  await send(first, session, "- say: Here again.");
  const after = await until("the next turn", async () => {
    const all = await typesOf(first, session);
    return counts(all).idles === 2 ? all : undefined;
  });
  expect(after.slice(0, types.length)).toEqual(types);
  expect(counts(after)).toEqual({ results: 1, messages: 2, idles: 2 });
});

/** Has the first server drive a turn, and resolves while its command runs. */
async function workIn(
  [, other]: readonly [StartedServer, StartedServer],
  first: Anthropic,
  session: string,
): Promise<void> {
  // Either may claim a session; one that is frozen does not.
  other.process.kill("SIGSTOP");
  await send(first, session, WORK);
  await until("the call", async () => {
    const types = await typesOf(first, session);
    return types.includes("agent.tool_use") ? true : undefined;
  });
  other.process.kill("SIGCONT");
}

async function idle(client: Anthropic, session: string): Promise<string[]> {
  return await until("the end of the turn", async () => {
    const types = await typesOf(client, session);
    return types.includes("session.status_idle") ? types : undefined;
  });
}

function counts(types: readonly string[]): { results: number; messages: number; idles: number } {
  const count = (type: string) => types.filter((each) => each === type).length;
  return {
    results: count("agent.tool_result"),
    messages: count("agent.message"),
    idles: count("session.status_idle"),
  };
}

test("`drover stop` ends all servers of the folder", async () => {
  const { servers, data } = await startTwo();
  const { stdout } = drover(["stop", "--hands"], { env: { DROVER_DATA: data } });
  for (const server of servers) expect(stdout).toContain(`process ${server.process.pid}`);
  await until("their ends", () =>
    servers.every(({ process }) => process.exitCode === 0) ? true : undefined,
  );
});

test("a budget that is raised through one server lets the turn go on that another one holds", async () => {
  const { clients, servers } = await startTwo();
  const [first, second] = clients;
  const limit = (amount: string): Budget => {
    return { type: "limit", max_list_cost: { amount, currency: "USD" } };
  };
  const session = await newSession(first, { budget: limit("1") });
  // To read this costs more than a cent.
  await send(first, session, `# ${"word ".repeat(12_000)}\n${WORK.replace("sleep 4; ", "")}`);
  const stopOf = async (client: Anthropic) => {
    const { data } = await client.beta.sessions.events.list(session, { order: "desc", limit: 1 });
    const [last] = data;
    return last?.type === "session.status_idle" ? last.stop_reason.type : undefined;
  };
  await until("the pause", async () => (await stopOf(second)) ?? undefined);
  expect(await stopOf(second)).toBe("budget_reached");
  await expect(send(second, session, "- say: more")).rejects.toThrow(/reached its budget/);
  servers[0].process.kill("SIGKILL");
  await second.beta.sessions.update(session, { budget: limit("100") });
  await until("the end of the turn", async () => {
    return (await stopOf(second)) === "end_turn" ? true : undefined;
  });
  const types = await typesOf(second, session);
  expect(types.filter((type) => type === "span.model_request_start")).toHaveLength(2);
});
