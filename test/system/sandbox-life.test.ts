import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import { createTestDatabase } from "@drover/testing";
import { expect, onTestFinished, test } from "vitest";
import { drover, type StartedServer, startServer, temporaryFolder } from "../support/drover.ts";
import { runOneTurn, textsOf } from "../support/session-run.ts";
import { until } from "./support/until.ts";

/** Sandboxes that are idle, come back, and change hands, on started servers, by the official client. */

interface Hand {
  readonly id: string;
  readonly installation_id: string | null;
  readonly checkpoint: { readonly tool_use_id: string; readonly is_current: boolean } | null;
}

function clientOf({ url, apiKey }: StartedServer): Anthropic {
  return new Anthropic({ baseURL: url, apiKey, maxRetries: 0 });
}

const script = (command: string) => `\`\`\`drover-script
- tool: bash
  input: { command: ${JSON.stringify(command)} }
- say: "There is: {{result}}"
\`\`\``;

const handOf = (client: Anthropic, id: string) =>
  client.get<Hand>(`/v1/drover/sessions/${id}/hand`);

const keptHand = (client: Anthropic, id: string) =>
  until("the files to be kept", async () => {
    const hand = await handOf(client, id);
    return hand.checkpoint?.is_current ? hand : undefined;
  });

async function run(client: Anthropic, id: string, command: string): Promise<string> {
  const stream = await client.beta.sessions.events.stream(id);
  await client.beta.sessions.events.send(id, {
    events: [{ type: "user.message", content: [{ type: "text", text: script(command) }] }],
  });
  for await (const event of stream) if (event.type === "session.status_idle") break;
  const all: Anthropic.Beta.Sessions.BetaManagedAgentsSessionEvent[] = [];
  for await (const event of client.beta.sessions.events.list(id, { limit: 1000 })) all.push(event);
  const last = all.findLastIndex(({ type }) => type === "user.message");
  return textsOf(all.slice(last), "agent.message");
}

/** What the session said at the end of its nth turn. */
const answerOf = (client: Anthropic, id: string, turn: number) =>
  until(`the answer of turn ${turn}`, async () => {
    const said: string[] = [];
    for await (const event of client.beta.sessions.events.list(id, { limit: 1000 })) {
      if (event.type === "agent.message") said.push(textsOf([event], "agent.message"));
    }
    return said[turn - 1];
  });

/** Machines of one database and one blob store, which run one after the other. */
async function machines(more: Readonly<Record<string, string>> = {}) {
  const database = await createTestDatabase();
  onTestFinished(() => database[Symbol.asyncDispose]());
  const blobs = temporaryFolder();
  const data = [temporaryFolder(), temporaryFolder()];
  for (const folder of data) symlinkSync(blobs, join(folder, "blobs"));
  const envOf = (index: number) => ({
    DROVER_DATA: data[index] ?? "",
    DROVER_DATABASE: database.url,
    DROVER_ENCRYPTION_KEY: Buffer.alloc(32, "key").toString("base64"),
    // The second is stopped before it keeps anything.
    DROVER_SANDBOX_IDLE_SECONDS: index === 0 ? "1" : "600",
    ...more,
  });
  return {
    data,
    serve: (index: number) => startServer({ env: envOf(index) }),
    start: async (index: number) => clientOf(await startServer({ env: envOf(index) })),
    stop: (index: number) => drover(["stop", "--hands"], { env: envOf(index) }),
  };
}

test("an idle sandbox goes with its machine and comes back on another with the same files", {
  timeout: 240_000,
}, async () => {
  const { start, stop, data } = await machines();
  const first = await start(0);
  const { sessionId } = await runOneTurn(first, {
    model: "offline/script",
    text: script("mkdir -p a && echo one > a/file && ln -s a/file link"),
  });
  const kept = await keptHand(first, sessionId);
  stop(0);
  const second = await start(1);
  expect(await run(second, sessionId, "cat link; echo two >> a/file")).toBe("There is: one");
  const there = await handOf(second, sessionId);
  expect(there.installation_id).not.toBe(kept.installation_id);
  expect(there.checkpoint).toMatchObject({ is_current: false });
  stop(1);
  // Gone with the disk of the other machine is what was not kept, and that is said once.
  const third = await start(0);
  const told = await run(third, sessionId, "cat a/file");
  expect(told).toMatch(/^There is: The call was not run, .*may be missing: bash \(sevt_\w+\)/);
  expect(await run(third, sessionId, "cat a/file; ls")).toBe("There is: one\na\nlink");
  await keptHand(third, sessionId);
  await third.beta.sessions.delete(sessionId);
  const folder = join(data[0] ?? "", "hands");
  await until("the hand to be gone", () => !existsSync(join(folder, kept.id)) || undefined);
  const reports = () => readdirSync(join(data[0] ?? "", "hand-reports"));
  await until("no word of it that nobody has heard", () => reports().length === 0 || undefined);
});

test("a call that still runs on another machine is said to, and what it does there stays there", {
  timeout: 240_000,
}, async () => {
  // Workspaces are folders of the host, which this test looks into.
  const { serve, start, stop, data } = await machines({ DROVER_SANDBOX_DISK_MB: "0" });
  const server = await serve(0);
  const first = clientOf(server);
  const { sessionId } = await runOneTurn(first, {
    model: "offline/script",
    text: script("echo one > file"),
  });
  const { id: handId } = await keptHand(first, sessionId);
  const workspace = join(data[0] ?? "", "hands", handId, "workspace");
  const late = "echo late | tee file /mnt/session/outputs/late; touch over";
  const command = `touch begun; until [ -e go ]; do sleep 0.05; done; ${late}`;
  await first.beta.sessions.events.send(sessionId, {
    events: [{ type: "user.message", content: [{ type: "text", text: script(command) }] }],
  });
  await until("the command", () => existsSync(join(workspace, "begun")) || undefined);
  server.process.kill("SIGKILL");
  const second = await start(1);
  const told = await answerOf(second, sessionId, 2);
  expect(told).toMatch(/may still run there.*its files as they were kept at/s);
  expect(told).not.toContain("nothing of it still runs");
  // It does, to its end.
  writeFileSync(join(workspace, "go"), "");
  await until("its end", () => existsSync(join(workspace, "over")) || undefined);
  const say = async (client: Anthropic, turn: number, text: string) => {
    await client.beta.sessions.events.send(sessionId, {
      events: [{ type: "user.message", content: [{ type: "text", text: script(text) }] }],
    });
    return await answerOf(client, sessionId, turn);
  };
  expect(await say(second, 3, "cat file; ls")).toBe("There is: one\nfile");
  stop(1);
  const third = await start(0);
  expect(await say(third, 4, "cat file")).toContain("The call was not run");
  expect(await say(third, 5, "cat file; ls /mnt/session/outputs")).toBe("There is: one");
  expect((await third.beta.files.list({ scope_id: sessionId })).data).toEqual([]);
});

test("a sandbox passes from one session to another with its files, and its processes where it may", async () => {
  const server = await startServer();
  const client = clientOf(server);
  const text = script("echo mine > file; cd /tmp; word=kept");
  const { sessionId } = await runOneTurn(client, { model: "offline/script", text });
  const from = await client.beta.sessions.retrieve(sessionId);
  const made = (environment_id: string) =>
    client.beta.sessions.create({ agent: from.agent.id, environment_id });
  const heir = await made(from.environment_id);
  const pass = (id: string, to: string) =>
    client.post<Hand>(`/v1/drover/sessions/${id}/hand/pass`, { body: { to_session_id: to } });
  await expect(pass(heir.id, sessionId)).rejects.toThrow("has no sandbox to pass on");
  const before = await handOf(client, sessionId);
  expect(await pass(sessionId, heir.id)).toMatchObject({ id: before.id, session_id: heir.id });
  const fork = await client.post<Hand>(`/v1/drover/sessions/${heir.id}/fork`, { body: {} });
  expect(await run(client, fork.id, "cat file")).toBe("There is: mine");
  expect(await run(client, heir.id, "pwd; echo $word; cat /workspace/file")).toBe(
    "There is: /tmp\nkept\nmine",
  );
  expect(await run(client, sessionId, "ls /workspace; echo $word end")).toBe("There is: end");
  await expect(pass(heir.id, sessionId)).rejects.toThrow("has used a sandbox of its own");
  // Another network means another sandbox, on the same files.
  const environment = await client.beta.environments.create({
    name: "closed",
    config: { type: "cloud", networking: { type: "limited" } },
  });
  const closed = await made(environment.id);
  const { status, stdout } = drover(["hand", heir.id, "--to", closed.id], {
    env: { DROVER_DATA: server.data, DROVER_API_KEY: server.apiKey },
  });
  expect([status, JSON.parse(stdout)]).toMatchObject([0, { id: before.id, is_used: true }]);
  expect(await run(client, closed.id, "pwd; echo $word end; cat file")).toBe(
    "There is: /workspace\nend\nmine",
  );
  await client.beta.sessions.delete(closed.id);
  const folder = join(server.data, "hands");
  mkdirSync(folder, { recursive: true });
  await until("the hand to be gone", () => !readdirSync(folder).includes(before.id) || undefined);
});
