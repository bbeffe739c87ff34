import Anthropic from "@anthropic-ai/sdk";
import { expect } from "vitest";
import { until } from "../system/support/until.ts";
import type { Served } from "./served.ts";

const SCRIPT = `\`\`\`drover-script
- say: Done.
  wait_ms: 3000
\`\`\``;

/**
 * One server is stopped (SIGSTOP) while it holds a session's lease and waits for the model; another one
 * takes the session over and ends the turn; thawed, the first has its response at once, is late with
 * it and is refused. The log is the other's, and both go on serving.
 */
export async function freezeInTurn(frozen: Served, other: Served): Promise<void> {
  const client = new Anthropic({ baseURL: other.url, apiKey: other.apiKey, maxRetries: 0 });
  const session = await newSession(client);
  const events = async () => {
    const list = [];
    for await (const event of client.beta.sessions.events.list(session)) list.push(event);
    return list;
  };
  // Whoever is frozen claims nothing: this is how the session comes to the server that it is to.
  other.process.kill("SIGSTOP");
  await send(new Anthropic({ baseURL: frozen.url, apiKey: frozen.apiKey }), session);
  await untilAsked(frozen, session);
  frozen.process.kill("SIGSTOP");
  other.process.kill("SIGCONT");
  const told = await until("the end of the turn", async () => {
    const list = await events();
    return list.at(-1)?.type === "session.status_idle" ? list : undefined;
  });
  frozen.process.kill("SIGCONT");
  const refusal = await until("the refusal", () => refusalOf(frozen, session));
  expect(refusal.types).toContain("agent.message");
  expect(await events()).toEqual(told);
  expect(told.filter(({ type }) => type === "agent.message")).toHaveLength(1);
}

async function newSession(client: Anthropic): Promise<string> {
  const agent = await client.beta.agents.create({
    name: "worker",
    model: "offline/script",
    tools: [{ type: "agent_toolset_20260401" }],
  });
  const environment = await client.beta.environments.create({ name: `for ${agent.id}` });
  const session = await client.beta.sessions.create({
    agent: agent.id,
    environment_id: environment.id,
  });
  return session.id;
}

async function send(client: Anthropic, session: string): Promise<void> {
  await client.beta.sessions.events.send(session, {
    events: [{ type: "user.message", content: [{ type: "text", text: SCRIPT }] }],
  });
}

async function untilAsked({ url, apiKey }: Served, session: string): Promise<void> {
  const client = new Anthropic({ baseURL: url, apiKey });
  await until("the model request", async () => {
    const { data } = await client.beta.sessions.events.list(session);
    return data.some(({ type }) => type === "span.model_request_start") ? true : undefined;
  });
}

function refusalOf(server: Served, session: string): { types: readonly string[] } | undefined {
  const lines = server.log.split("\n").slice(0, -1);
  return lines
    .map((line) => JSON.parse(line))
    .find((line) => line.session_id === session && line.msg === "append refused");
}
