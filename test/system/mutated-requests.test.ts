import { expect, test } from "vitest";
import { Conversation, MODEL, messagesOf } from "./support/conversation.ts";
import { Dice, mutated, mutatedPath, serialized } from "./support/mutations.ts";
import { send, type WireAnswer, type WireRequest } from "./support/wire.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();

const SEED = 20_261_129;
const ROUNDS = 1_200;

interface Endpoint {
  readonly method: string;
  readonly path: string;
  readonly body?: Parameters<typeof mutated>[0];
}

test(`of ${ROUNDS} mutated requests none makes the server fail, and it serves on`, async () => {
  const endpoints = await endpointsOf();
  const dice = new Dice(SEED);
  const statuses = new Map<number, number>();
  for (let round = 0; round < ROUNDS; round++) {
    const request = mutatedRequest(endpoints[round % endpoints.length], dice);
    const answer = await send(world(), request).catch((error: unknown) => {
      throw new Error(`no answer to ${shown(request)} in round ${round}`, { cause: error });
    });
    expect(problemOf(answer), `${shown(request)} in round ${round}`).toBeUndefined();
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
  }
  expect(world().log).not.toMatch(/should not have|turn failed|drive failed/);
  // Else the mutations would be so wild that nothing behind the first check is ever reached.
  expect(statuses.get(200)).toBeGreaterThan(ROUNDS / 20);
  expect(statuses.get(400)).toBeGreaterThan(ROUNDS / 5);
  const talk = await Conversation.open(world());
  await talk.say("are you there?");
  expect(messagesOf(await talk.afterTurns(1))).toEqual(["You said: are you there?"]);
});

async function endpointsOf(): Promise<readonly Endpoint[]> {
  const talk = await Conversation.open(world());
  const { agents, environments, sessions } = world().client.beta;
  const agent = await agents.create({ name: "worker", model: MODEL });
  const environment = await environments.create({ name: "for mutations" });
  const thread = (await sessions.threads.list(talk.id)).data[0]?.id ?? "";
  const session = `/v1/sessions/${talk.id}`;
  const reads = [
    "/v1/agents",
    `/v1/agents/${agent.id}`,
    `/v1/agents/${agent.id}/versions`,
    "/v1/environments",
    `/v1/environments/${environment.id}`,
    "/v1/sessions",
    session,
    `${session}/events`,
    `${session}/events/stream`,
    `${session}/resources`,
    `${session}/threads`,
    `${session}/threads/${thread}`,
    `${session}/threads/${thread}/events`,
    `${session}/threads/${thread}/stream`,
    "/v1/files",
    "/v1/models",
    "/v1/vaults",
    "/health",
  ].map((path) => ({ method: "GET", path }));
  const toolset = {
    type: "agent_toolset_20260401",
    default_config: { enabled: true, permission_policy: { type: "always_allow" } },
    configs: [{ name: "bash", enabled: false }],
  };
  const newAgent = {
    name: "worker",
    description: "works",
    system: "You work.",
    model: { id: MODEL, effort: "high" },
    tools: [toolset],
    metadata: { a: "b" },
  };
  const newEnvironment = {
    name: "place",
    description: "",
    metadata: { a: "b" },
    config: {
      type: "cloud",
      networking: { type: "limited", allowed_hosts: ["example.com"], allow_mcp_servers: false },
      packages: { pip: [], apt: null },
    },
  };
  const text = { type: "text", text: "hello" };
  const event = { type: "user.message", content: [text, text] };
  const writes: Endpoint[] = [
    { method: "POST", path: "/v1/agents", body: newAgent },
    { method: "POST", path: `/v1/agents/${agent.id}`, body: { version: 1, ...newAgent } },
    { method: "POST", path: "/v1/environments", body: newEnvironment },
    { method: "POST", path: `/v1/environments/${environment.id}`, body: { description: "new" } },
    {
      method: "POST",
      path: "/v1/sessions",
      body: {
        agent: { type: "agent_with_overrides", id: agent.id, tools: [toolset], system: "Work." },
        environment_id: environment.id,
        title: "title",
        metadata: { a: "b" },
        initial_events: [event],
        resources: [],
      },
    },
    { method: "POST", path: session, body: { title: "new", metadata: { a: null, b: "c" } } },
    {
      method: "POST",
      path: `${session}/events`,
      body: { events: [event, { type: "user.interrupt" }] },
    },
    { method: "POST", path: `${session}/threads/${thread}/archive` },
    { method: "POST", path: "/v1/files", body: {} },
    { method: "POST", path: "/v1/deployments", body: {} },
    { method: "DELETE", path: "/v1/files/file_nobody" },
    { method: "DELETE", path: "/v1/sessions/sesn_nobody" },
    { method: "POST", path: "/v1/sessions/sesn_nobody/archive" },
  ];
  return [...reads, ...writes, ...writes];
}

function mutatedRequest(endpoint: Endpoint | undefined, dice: Dice): WireRequest {
  const { method = "GET", path = "/", body } = endpoint ?? {};
  const odd = dice.next() < (body === undefined ? 0.8 : 0.15) ? mutatedPath(path, dice) : path;
  const headers = dice.next() < 0.2 ? oddHeader(dice) : {};
  if (body === undefined) return { method, path: odd, headers };
  const changed = dice.next() < 0.1 ? body : mutated(body, dice);
  return { method, path: odd, headers, body: serialized(changed, dice) };
}

function oddHeader(dice: Dice): Record<string, string> {
  return dice.pick([
    { "x-stainless-retry-count": "-1" },
    { "x-stainless-retry-count": "99999" },
    { "idempotency-key": "k".repeat(5_000) },
    { "idempotency-key": "the same" },
    { "anthropic-version": "1999-01-01" },
    { "anthropic-beta": "," },
    { "content-type": "text/plain; charset=utf-16" },
    { "content-type": "multipart/form-data; boundary=" },
    { "content-type": "multipart/form-data; boundary=x" },
    { "content-encoding": "gzip" },
    { host: "" },
    { host: "[::1" },
    { cookie: "x".repeat(10_000) },
  ]);
}

/** What is wrong with an answer; undefined if nothing is. */
function problemOf({ status, headers, text }: WireAnswer): string | undefined {
  if (status < 400) return undefined;
  // Node itself answers what is no HTTP, before there is a request.
  if (status === 400 && text === "") return undefined;
  if (headers["content-type"] !== "application/json") return `${status} is no JSON: ${text}`;
  const { type, error } = JSON.parse(text);
  if (type !== "error" || typeof error?.message !== "string") return `no error body: ${text}`;
  if (status < 500) return undefined;
  const isNamed = status === 501 && error.message.includes("not implemented in this version");
  return isNamed ? undefined : `${status}: ${text}`;
}

function shown({ method, path, headers, body }: WireRequest): string {
  const text = body instanceof Uint8Array ? Buffer.from(body).toString("latin1") : String(body);
  return `${method} ${path.slice(0, 200)} ${JSON.stringify(headers).slice(0, 200)} ${text.slice(0, 500)}`;
}
