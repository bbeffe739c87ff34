import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { accepted, all, assertHas, assertRefused, refused } from "../support/expect.ts";
import { newAgent, newSession, sharedAgent } from "../support/fixtures.ts";
import { busySession, interrupt, sendText } from "../support/sending.ts";
import { historyOf, message, runTurn, type SessionEvent, script } from "../support/turns.ts";
import { eventsOf, onlyOf, Watch } from "../support/watch.ts";
import type { Target } from "../target.ts";

const SPILL_LIMIT = 100_000;
const SPILL = JSON.stringify([
  { tool: "bash", input: { command: "echo first; seq 1 40000; echo last" } },
  { tool: "bash", input: { command: 'wc -l < {{result | match "/[^ ]+[.]txt"}}' } },
  { tool: "bash", input: { command: "head -c 90000 /dev/zero | tr '\\0' x" } },
  { say: "done" },
]);

export const choices: readonly Scenario[] = [
  scenario(
    "a session is born running with initial events, and idle without",
    { verifies: ["choices.create.running"] },
    async (t) => {
      const hello = message(script("- say: hello"));
      const running = await newSession(t, { initial_events: [hello] });
      assert.equal(running.status, "running");
      for (const params of [{}, { initial_events: [] }]) {
        assert.equal((await newSession(t, params)).status, "idle");
      }
      const watch = await Watch.open(t, running.id);
      assertHas((await watch.turn()).at(-1) ?? {}, { stop_reason: { type: "end_turn" } });
      await watch.close();
    },
  ),
  scenario(
    "queued input is listed after the log in order of arrival, and the other way round",
    { verifies: ["choices.queued.listed", "choices.queued.created-at"], rows: [47] },
    async (t) => {
      const { session, watch } = await busySession(t);
      const waiting = [
        await sendText(t, session.id, script("- say: one")),
        await sendText(t, session.id, "two"),
      ];
      const list = (query: object) => all(t.client.beta.sessions.events.list(session.id, query));
      const forward = await list({});
      assert.deepEqual(idsOf(forward).slice(-2), waiting);
      assert(forward.slice(0, -2).every(({ processed_at }) => processed_at !== null));
      assert.deepEqual(await list({ order: "desc" }), forward.toReversed());
      for (const limit of [1, 2, forward.length - 1]) {
        assert.deepEqual(await list({ limit }), forward);
        assert.deepEqual(await list({ limit, order: "desc" }), forward.toReversed());
      }
      const messages = await list({ types: ["user.message"] });
      assert.deepEqual(idsOf(messages).slice(-2), waiting);
      const past = new Date(Date.now() - 3_600_000).toISOString();
      assert.deepEqual(await list({ "created_at[gte]": past }), forward.slice(0, -2));
      await interrupt(t, session.id);
      await watch.close();
    },
  ),
  scenario(
    "the list of events goes on from an event, or up to one",
    { verifies: ["choices.list.after-before", "choices.list.after-unknown"], rows: [47] },
    async (t) => {
      const session = await newSession(t);
      await runTurn(t, session.id, script("- { tool: no_such_tool }\n- say: done"));
      const history = await historyOf(t, session.id);
      const [first, second] = [history[2], history[6]];
      assert(first !== undefined && second !== undefined);
      const path = `/v1/sessions/${session.id}/events`;
      const list = async (query: string) =>
        accepted(await t.request("GET", `${path}?${query}`)).data;
      const range = `after=${first.id}&before=${second.id}`;
      assert.deepEqual(await list(`after=${first.id}`), history.slice(3));
      assert.deepEqual(await list(`before=${second.id}`), history.slice(0, 6));
      assert.deepEqual(await list(range), history.slice(3, 6));
      assert.deepEqual(await list(`${range}&order=desc`), history.slice(3, 6).toReversed());
      const types = "types[]=agent.message";
      assert.deepEqual(
        await list(`after=${first.id}&${types}`),
        eventsOf(history.slice(3), "agent.message"),
      );
      const other = await newSession(t);
      const foreign = await sendText(t, other.id, script("- say: x"));
      for (const query of ["after=sevt_of_nobody", "before=sevt_of_nobody", `after=${foreign}`]) {
        assertRefused(await t.request("GET", `${path}?${query}`), {
          status: 400,
          says: /after|before/,
        });
      }
    },
  ),
  scenario(
    "a query parameter that an endpoint does not have is refused by name",
    { verifies: ["choices.query.unknown"] },
    async (t) => {
      const session = await newSession(t);
      const base = `/v1/sessions/${session.id}`;
      const requests: readonly (readonly [method: string, path: string])[] = [
        ["GET", "/v1/agents"],
        ["GET", "/v1/environments"],
        ["GET", "/v1/sessions"],
        ["GET", base],
        ["GET", `${base}/events`],
        ["GET", `${base}/events/stream`],
        ["GET", `${base}/threads`],
        ["POST", base],
        ["POST", `${base}/events`],
      ];
      for (const [method, path] of requests) {
        const wire = method === "POST" ? { body: {} } : {};
        const answer = await t.request(method, `${path}?colour=red`, wire);
        assertRefused(answer, { status: 400, type: "invalid_request_error", says: /colour/ });
      }
      accepted(await t.request("GET", `${base}/events?limit=5`));
    },
  ),
  scenario(
    "a long output goes to a file, and the model gets its two ends and the path",
    { verifies: ["choices.spill"], needs: ["scripted-model"] },
    async (t) => {
      const session = await newSession(t);
      const seen = await runTurn(t, session.id, script(SPILL));
      const [long, lines, short] = eventsOf(seen, "agent.tool_result").map(resultText);
      assert(long !== undefined && long.length < SPILL_LIMIT, `${long?.length} characters`);
      assert(long.startsWith("first\n1\n2\n"));
      assert(long.trimEnd().endsWith("\n40000\nlast"));
      assert.equal(lines?.trim(), "40002");
      assert.equal(short?.trim(), "x".repeat(90_000));
    },
  ),
  scenario(
    "what is not built says so, and that to try again is no use",
    { verifies: ["choices.unbuilt"] },
    async (t) => {
      const environment = await t.client.beta.environments.create({ name: t.unique("env") });
      const parts: Record<string, RegExp> = {
        "/v1/deployments": /deployment/,
        "/v1/deployment_runs": /deployment/,
        "/v1/dreams": /dream/,
        "/v1/tunnels": /tunnel/,
        [`/v1/environments/${environment.id}/work`]: /work/,
      };
      for (const [path, says] of Object.entries(parts)) {
        const answer = await t.request("GET", path);
        assert([200, 501].includes(answer.status), `${answer.status} of ${path}`);
        if (answer.status === 200) continue;
        assertRefused(answer, { status: 501, says });
        assert.equal(answer.headers.get("x-should-retry"), "false");
      }
      assert.equal((await t.request("GET", "/v1/nothing-of-the-contract")).status, 404);
    },
  ),
  scenario(
    "a conflict that cannot change is not to be tried again",
    { verifies: ["choices.conflicts", "wrong.7.conflict"], rows: [4] },
    async (t) => {
      const agent = await newAgent(t);
      const path = `/v1/agents/${agent.id}`;
      const stale = { name: t.unique("agent"), version: agent.version + 7 };
      const answer = await t.request("POST", path, { body: stale });
      assertRefused(answer, { status: 409, type: "conflict_error" });
      assert.equal(answer.headers.get("x-should-retry"), "false");
      const counting = countingFetch();
      const patient = t.clientWith({ fetch: counting.fetch, maxRetries: 2 });
      await refused(patient.beta.agents.update(agent.id, stale), { status: 409 });
      assert.equal(counting.count(), 1);
      accepted(await t.request("POST", path, { body: { ...stale, version: agent.version } }));
    },
  ),
  scenario(
    "versions of the API that clients send are accepted, and so is the old beta query",
    { verifies: ["choices.version", "choices.beta.query", "choices.beta.header"], rows: [121] },
    async (t) => {
      const path = `/v1/agents/${(await sharedAgent(t)).id}`;
      for (const version of ["2023-06-01", "2026-10-21"]) {
        accepted(await t.request("GET", path, { headers: { "anthropic-version": version } }));
      }
      const old = { headers: { "anthropic-version": "2019-01-01" } };
      assertRefused(await t.request("GET", path, old), { status: 400, says: /anthropic-version/ });
      for (const query of ["", "?beta=true"]) {
        accepted(await t.request("GET", `${path}${query}`));
        const beta = { headers: { "anthropic-beta": "managed-agents-2026-04-01" } };
        accepted(await t.request("GET", `${path}${query}`, beta));
      }
    },
  ),
  scenario(
    "a POST whose answer was lost takes effect once when the client tries again",
    {
      verifies: ["choices.retry.client", "choices.retry.anew", "wrong.31.retried-create"],
      rows: [4],
    },
    async (t) => {
      const { id } = await newSession(t);
      const losing = countingFetch({ lost: 1 });
      const client = t.clientWith({ fetch: losing.fetch, maxRetries: 2 });
      const events = [message(script("- say: once"))];
      const sent = await client.beta.sessions.events.send(id, { events });
      assert.equal(losing.count(), 2);
      const one = eventsOf(await historyOf(t, id), "user.message");
      assert.deepEqual(idsOf(one), idsOf(sent.data ?? []));
      // Sent anew it is another message.
      await t.client.beta.sessions.events.send(id, { events });
      assert.equal(eventsOf(await historyOf(t, id), "user.message").length, 2);
      const making = countingFetch({ lost: 1 });
      const name = t.unique("made-once");
      const agents = t.clientWith({ fetch: making.fetch, maxRetries: 2 }).beta.agents;
      await agents.create({ name, model: t.model });
      assert.equal(making.count(), 2);
      const made = (await all(t.client.beta.agents.list())).filter((agent) => agent.name === name);
      assert.equal(made.length, 1);
    },
  ),
  scenario(
    "an Idempotency-Key makes one of several requests",
    { verifies: ["choices.retry.key"] },
    async (t) => {
      const body = { name: t.unique("keyed"), model: t.model };
      const create = async (key: string) =>
        accepted(
          await t.request("POST", "/v1/agents", { body, headers: { "idempotency-key": key } }),
        ).id;
      const key = t.unique("key");
      const first = await create(key);
      assert.equal(await create(key), first);
      assert.notEqual(await create(t.unique("key")), first);
    },
  ),
  scenario(
    "the first stream since input was accepted begins at that input, also after the answer",
    { verifies: ["choices.stream.late"], rows: [45] },
    async (t) => {
      const session = await newSession(t);
      const id = await sendText(t, session.id, script("- say: quick"));
      await idle(t, session.id);
      const late = await Watch.open(t, session.id);
      const turn = await late.turn();
      assert.deepEqual(turn, await historyOf(t, session.id));
      assert(turn.some((event) => "id" in event && event.id === id));
      // It has been watched now: the next stream is live.
      const next = await Watch.open(t, session.id);
      const second = await sendText(t, session.id, script("- say: next"));
      assertHas((await next.turn())[0] ?? {}, { id: second, processed_at: null });
      assert.equal(onlyOf(next.seen, "agent.message").content.length, 1);
      await Promise.all([late.close(), next.close()]);
    },
  ),
];

async function idle(t: Target, sessionId: string): Promise<void> {
  const { sessions } = t.client.beta;
  while ((await sessions.retrieve(sessionId)).status !== "idle") await sessions.list({ limit: 1 });
}

/** Passes requests on; of the first `lost` the server's answer is thrown away. */
function countingFetch({ lost = 0 }: { lost?: number } = {}) {
  let count = 0;
  return {
    count: () => count,
    fetch: async (...request: Parameters<typeof fetch>): Promise<Response> => {
      count += 1;
      const isLost = count <= lost;
      const response = await fetch(...request);
      if (!isLost) return response;
      await response.arrayBuffer();
      throw new TypeError("the connection was lost");
    },
  };
}

function idsOf(events: readonly { readonly id: string }[]): string[] {
  return events.map(({ id }) => id);
}

function resultText(event: Extract<SessionEvent, { type: "agent.tool_result" }>): string {
  return (event.content ?? []).map((block) => (block.type === "text" ? block.text : "")).join("");
}
