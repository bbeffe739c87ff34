import { readFileSync } from "node:fs";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import { createTestDatabase } from "@drover/testing";
import { expect, onTestFinished, test } from "vitest";
import {
  drover,
  droverBeside,
  type StartedServer,
  startServer,
  temporaryFolder,
} from "../support/drover.ts";
import { runOneTurn, textsOf } from "../support/session-run.ts";

/** Forks, files and replays of sessions, on started servers, read by the official client. */

const SCRIPT = `\`\`\`drover-script
- say: Writing.
  tool: bash
  input: { command: "echo made > /workspace/made && echo result > /mnt/session/outputs/result.txt" }
- say: It is done.
\`\`\``;

function clientOf({ url, apiKey }: StartedServer): Anthropic {
  return new Anthropic({ baseURL: url, apiKey, maxRetries: 0 });
}

const envOf = (server: StartedServer) => ({
  DROVER_DATA: server.data,
  DROVER_API_KEY: server.apiKey,
});

function run(server: StartedServer, ...args: string[]): string {
  const { status, stdout, stderr } = drover(args, { env: envOf(server) });
  expect(status, stderr).toBe(0);
  return stdout.trim();
}

async function eventsOf(client: Anthropic, id: string) {
  const events: Anthropic.Beta.Sessions.BetaManagedAgentsSessionEvent[] = [];
  for await (const event of client.beta.sessions.events.list(id)) events.push(event);
  return events;
}

async function listText(server: StartedServer, id: string): Promise<string> {
  const response = await fetch(`${server.url}/v1/sessions/${id}/events`, {
    headers: { "x-api-key": server.apiKey },
  });
  return await response.text();
}

async function goOn(client: Anthropic, id: string, text: string): Promise<string> {
  const stream = await client.beta.sessions.events.stream(id);
  await client.beta.sessions.events.send(id, {
    events: [{ type: "user.message", content: [{ type: "text", text }] }],
  });
  for await (const event of stream) if (event.type === "session.status_idle") break;
  return textsOf(await eventsOf(client, id), "agent.message");
}

test("a session is forked at a message, goes on with another model, and leaves the first alone", async () => {
  const server = await startServer();
  const client = clientOf(server);
  const { sessionId, events } = await runOneTurn(client, { model: "offline/echo", text: "hello" });
  const message = events.find(({ type }) => type === "user.message");
  const fork = await client.post<Anthropic.Beta.Sessions.BetaManagedAgentsSession>(
    `/v1/drover/sessions/${sessionId}/fork`,
    { body: { event_id: message?.id, agent: { model: "offline/script" }, title: "other way" } },
  );
  expect(fork).toMatchObject({
    status: "idle",
    title: "other way",
    agent: { model: { id: "offline/script" } },
  });
  expect((await client.beta.sessions.retrieve(fork.id)).id).toBe(fork.id);
  const made = await eventsOf(client, fork.id);
  expect(made.map(({ type }) => type)).toEqual([
    "session.status_running",
    "session.thread_status_running",
    "user.message",
    "session.thread_status_idle",
    "session.usage",
    "session.status_idle",
  ]);
  const said = await goOn(client, fork.id, "```drover-script\n- say: Another answer.\n```");
  expect(said).toBe("Another answer.");
  expect(await eventsOf(client, sessionId)).toEqual(events);
});

test("a session at rest is forked with the files of its sandbox, which part from there", async () => {
  const server = await startServer();
  const client = clientOf(server);
  const { sessionId } = await runOneTurn(client, { model: "offline/script", text: SCRIPT });
  const fork = run(server, "fork", sessionId);
  const change = `\`\`\`drover-script
- tool: bash
  input: { command: "cat made; echo changed > made; ls /mnt/session/outputs" }
- say: "There is: {{result}}"
\`\`\``;
  expect(await goOn(client, fork, change)).toContain("There is: made\nresult.txt");
  const look = change.replace("echo changed > made; ", "");
  expect(await goOn(client, sessionId, look)).toContain("There is: made\nresult.txt");
  expect(await goOn(client, fork, look)).toContain("There is: changed\nresult.txt");
  // Also when hands and server died in between, and of a sandbox that is long gone.
  drover(["stop", "--hands"], { env: envOf(server) });
  const started = await startServer({ env: { DROVER_DATA: server.data } });
  const again = { ...started, data: server.data };
  const second = run(again, "fork", fork);
  expect(await goOn(clientOf(again), second, look)).toContain("There is: changed\nresult.txt");
  const early = (await eventsOf(clientOf(again), fork)).find(
    ({ type }) => type === "agent.tool_result",
  );
  const refused = drover(["fork", fork, "--at", early?.id ?? ""], { env: envOf(again) });
  expect([refused.status, refused.stderr]).toEqual([
    1,
    expect.stringContaining('workspace "empty"'),
  ]);
});

test("a session whose sandbox was used is forked without its files, and the model is told", async () => {
  const server = await startServer();
  const client = clientOf(server);
  const { sessionId } = await runOneTurn(client, { model: "offline/script", text: SCRIPT });
  const fork = run(server, "fork", sessionId, "--workspace", "empty", "--model", "offline/script");
  const look = `\`\`\`drover-script
- tool: bash
  input: { command: "ls /workspace; echo end" }
- say: "There is: {{result}}"
\`\`\``;
  const said = await goOn(client, fork, look);
  expect(said).toContain("There is: end");
  expect(said).not.toContain("made");
});

test("a session is read back byte for byte from its file, on SQLite and on PostgreSQL", async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database[Symbol.asyncDispose]());
  const [here, there, elsewhere] = await Promise.all([
    startServer(),
    startServer(),
    startServer({ env: { DROVER_DATABASE: database.url } }),
  ]);
  const { sessionId } = await runOneTurn(clientOf(here), { model: "offline/script", text: SCRIPT });
  const file = join(temporaryFolder(), "session.jsonl");
  run(here, "export", sessionId, "--out", file);
  const text = await listText(here, sessionId);
  for (const server of [there, elsewhere]) {
    const client = clientOf(server);
    const environment = await client.beta.environments.create({ name: "here" });
    const options = ["--environment", environment.id, "--workspace", "empty"];
    expect(run(server, "import", file, ...options)).toBe(sessionId);
    expect(await listText(server, sessionId)).toBe(text);
    const again = run(server, "export", sessionId).split("\n");
    const lines = readFileSync(file, "utf8").trim().split("\n");
    // All but the environment, which is another one here, and the hash of all lines.
    expect(again.slice(2, -1)).toEqual(lines.slice(2, -1));
    const files = await client.beta.files.list({ scope_id: sessionId });
    const content = await client.beta.files.download(files.data[0]?.id ?? "");
    expect(await content.text()).toBe("result\n");
    expect(await goOn(client, sessionId, "```drover-script\n- say: Going on.\n```")).toContain(
      "Going on.",
    );
    const refused = drover(["import", file, ...options], { env: envOf(server) });
    expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining(sessionId)]);
    expect(run(server, "import", file, "--new-ids", ...options)).toMatch(/^sesn_/);
    // Its new sandbox was not used yet, so a fork lacks nothing of it.
    const fork = run(server, "fork", sessionId, "--title", "a fork of it");
    expect(await goOn(client, fork, "```drover-script\n- say: Forked.\n```")).toContain("Forked.");
    expect(run(server, "replay", fork, "--model", "offline/script")).toContain("was asked");
  }
});

test("a replay shows for people, and for programs, what another model does otherwise", async () => {
  const server = await startServer();
  const client = clientOf(server);
  const { sessionId, events } = await runOneTurn(client, {
    model: "offline/echo",
    text: "hello there",
  });
  const same = run(server, "replay", sessionId);
  expect(same).toContain("the same");
  expect(same).toContain(
    "offline/echo was asked 1 times: 1 the same, 1 with the same tool calls, 0 failed.",
  );
  const other = run(server, "replay", sessionId, "--model", "offline/script");
  expect(other).toContain("other text");
  expect(other).toContain("recorded: hello there");
  const { stdout } = await droverBeside(["replay", sessionId, "--json"], { env: envOf(server) });
  const lines = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines.at(-1)).toMatchObject({ type: "replay.summary", requests: { asked: 1 } });
  expect(await eventsOf(client, sessionId)).toEqual(events);
});

test("a file that is none is refused with its line", async () => {
  const server = await startServer();
  const { status, stderr } = drover(
    ["import", join(import.meta.dirname, "session-copies.test.ts")],
    {
      env: envOf(server),
    },
  );
  expect([status, stderr]).toEqual([1, expect.stringContaining("line 1")]);
});
