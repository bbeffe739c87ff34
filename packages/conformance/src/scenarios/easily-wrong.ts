import assert from "node:assert/strict";
import { toFile } from "@anthropic-ai/sdk";
import { type Scenario, scenario } from "../scenario.ts";
import { accepted, all, assertHas, assertRefused, refused } from "../support/expect.ts";
import { newAgent, newEnvironment, newSession, sharedAgent } from "../support/fixtures.ts";
import { interrupt, send, sendText } from "../support/sending.ts";
import { historyOf, runTurn, script } from "../support/turns.ts";
import { eventsOf, Watch } from "../support/watch.ts";
import type { Target } from "../target.ts";

const DEFERRED_WORK =
  "self-hosted environments take no work yet: a session in one, and its queue, answer 501";
const SELF_HOSTED = { config: { type: "self_hosted" as const } };

export const easilyWrong: readonly Scenario[] = [
  scenario(
    "a key is let in as the official client sends it and as older ones do",
    { verifies: ["wrong.3.bearer"], rows: [1] },
    async (t) => {
      const sent: (string | null)[] = [];
      const client = t.clientWith({
        fetch: async (url, init) => {
          const headers = new Headers(init?.headers);
          sent.push(headers.get("authorization"), headers.get("x-api-key"));
          return await fetch(url, init);
        },
      });
      await client.beta.agents.list({ limit: 1 });
      assert.deepEqual(sent, [`Bearer ${t.options.apiKey}`, null]);
      const wire = { key: null, headers: { "x-api-key": t.options.apiKey } };
      accepted(await t.request("GET", "/v1/agents?limit=1", wire));
      const wrong = { key: null, headers: { "x-api-key": "nobody-knows-this-key" } };
      assertRefused(await t.request("GET", "/v1/agents", wrong), { status: 401 });
    },
  ),
  scenario(
    "arrays and nulls of a query are read as the official client writes them",
    { verifies: ["wrong.4.arrays", "wrong.4.nulls"], rows: [8] },
    async (t) => {
      const session = await newSession(t);
      await runTurn(t, session.id, script("- say: hello"));
      const urls: string[] = [];
      const client = t.clientWith({
        fetch: async (url, init) => {
          urls.push(decodeURIComponent(String(url)));
          return await fetch(url, init);
        },
      });
      const types = ["user.message" as const, "agent.message" as const];
      const nothing = { limit: null, page: null } as object;
      const found = await client.beta.sessions.events.list(session.id, { types, ...nothing });
      assert.match(urls[0] ?? "", /types\[\]=user\.message&types\[\]=agent\.message/);
      assert.match(urls[0] ?? "", /limit=&page=/);
      assert.deepEqual(
        found.data.map(({ type }) => type),
        types,
      );
      const repeated = `/v1/sessions/${session.id}/events?types=user.message&types=agent.message`;
      assert.deepEqual(accepted(await t.request("GET", repeated)).data, found.data);
    },
  ),
  scenario(
    "each resource is reached with the beta header that the official client sends for it, or none",
    { verifies: ["wrong.12.beta-headers"], rows: [121] },
    async (t) => {
      const beta = { headers: { "anthropic-beta": "agent-memory-2026-07-22" } };
      accepted(await t.request("GET", "/v1/memory_stores", beta));
      for (const path of ["/v1/files", "/v1/skills", "/v1/models"]) {
        accepted(await t.request("GET", path));
      }
      await t.client.files.list();
      await t.client.models.list();
      await t.client.beta.memoryStores.list();
    },
  ),
  scenario(
    "lists have an array, end with null, and have the keys of their own scheme",
    { verifies: ["wrong.13.last-page", "wrong.13.schemes", "wrong.29.lists"], rows: [5] },
    async (t) => {
      const session = await newSession(t);
      const base = `/v1/sessions/${session.id}`;
      const paths = ["/v1/agents", "/v1/environments", "/v1/sessions", "/v1/files", "/v1/vaults"];
      for (const path of [...paths, `${base}/events`, `${base}/threads`, `${base}/resources`]) {
        const body = accepted(await t.request("GET", path));
        assert(Array.isArray(body.data), `${path} has no array of data`);
        assert("next_page" in body, `${path} has no next_page`);
        assert.equal("prev_page" in body, path === "/v1/sessions", path);
      }
      assert.equal(accepted(await t.request("GET", `${base}/events`)).next_page, null);
      const models = accepted(await t.request("GET", "/v1/models"));
      const keys = ["data", "first_id", "has_more", "last_id"];
      assert.deepEqual(Object.keys(models).toSorted(), keys);
    },
  ),
  scenario(
    "a DELETE answers what is gone",
    { verifies: ["wrong.29.tombstones"], rows: [28, 41] },
    async (t) => {
      const { beta } = t.client;
      const session = await newSession(t);
      const deleted = await beta.sessions.delete(session.id);
      assert.deepEqual(deleted, { id: session.id, type: "session_deleted" });
      await refused(beta.sessions.delete(session.id), { status: 404 });
      const environment = await newEnvironment(t);
      const gone = await t.request("DELETE", `/v1/environments/${environment.id}`);
      assert.equal(gone.status, 200);
      assert.deepEqual(gone.body, { id: environment.id, type: "environment_deleted" });
      await refused(beta.environments.retrieve(environment.id), { status: 404 });
      const file = await beta.files.upload({ file: await toFile(Buffer.from("x"), "x.txt") });
      assert.equal((await beta.files.delete(file.id)).id, file.id);
      await refused(beta.files.retrieveMetadata(file.id), { status: 404 });
    },
  ),
  scenario(
    "a skill's parts keep their directories, and its newest version is called latest",
    { verifies: ["wrong.25.directories", "wrong.25.latest"] },
    async (t) => {
      const { skills } = t.client.beta;
      const slug = t.unique("skill");
      const head = `---\nname: ${slug}\ndescription: Says hello.\n---\nSay hello.\n`;
      const part = (path: string, text: string) => toFile(Buffer.from(text), path);
      const good = [part(`${slug}/SKILL.md`, head), part(`${slug}/parts/a.txt`, "a")];
      const skill = await skills.create({ files: await Promise.all(good) });
      const latest = await skills.versions.retrieve("latest", { skill_id: skill.id });
      assert.equal(latest.id, skill.latest_version_id);
      const place = { skill_id: skill.id };
      const archive = await skills.versions.download(latest.id, place);
      const bytes = Buffer.from(await archive.arrayBuffer()).toString("latin1");
      assert(bytes.includes(`${slug}/parts/a.txt`), "the archive lacks the part's path");
      const roots = [part(`${slug}/SKILL.md`, head), part("elsewhere/a.txt", "a")];
      await refused(skills.create({ files: await Promise.all(roots) }), { status: 400 });
      await refused(skills.create({ files: [await part("a.txt", "a")] }), { status: 400 });
    },
  ),
  scenario(
    "what a user uploaded is not downloadable, and what a session left is",
    { verifies: ["wrong.27.downloads"], rows: [115] },
    async (t) => {
      const { files } = t.client.beta;
      const uploaded = await files.upload({ file: await toFile(Buffer.from("mine"), "a.txt") });
      await refused(files.download(uploaded.id), { status: 400, code: "file_not_downloadable" });
      const session = await newSession(t);
      const command = "echo yours > /mnt/session/outputs/b.txt";
      await runTurn(t, session.id, script(`- { tool: bash, input: { command: "${command}" } }`));
      const left = await all(files.list({ scope_id: session.id }));
      const output = left.find(({ filename }) => filename === "b.txt");
      assert(output !== undefined, "the output is not listed in the session's scope");
      assert.equal(await (await files.download(output.id)).text(), "yours\n");
    },
  ),
  scenario(
    "names that the server does not know are no error where the contract leaves them open",
    { verifies: ["wrong.33.registries"] },
    async (t) => {
      const id = (await sharedAgent(t)).id;
      const headers = {
        "anthropic-beta": "some-beta-2031-01-01,managed-agents-2026-04-01",
        "x-stainless-helper": "some-helper",
        traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      };
      accepted(await t.request("GET", `/v1/agents/${id}`, { headers }));
      const model = "claude-of-the-future-9";
      assertHas((await newAgent(t, { model })).model, { id: model });
    },
  ),
  scenario(
    "the queue of a self-hosted environment answers as its workers need it",
    {
      verifies: [
        "wrong.8.empty-poll",
        "wrong.9.heartbeat",
        "wrong.10.secret",
        "wrong.24.idle-worker",
        "wrong.30.work-paths",
      ],
      rows: [77],
      deferred: DEFERRED_WORK,
    },
    async (t) => {
      const { id } = await newEnvironment(t, SELF_HOSTED);
      const { work } = t.client.beta.environments;
      assert.equal(await work.poll(id, { block_ms: 1 }), null);
      assert.equal((await work.stats(id)).type, "work_queue_stats");
      const session = await newSession(t, { environment_id: id });
      assert.equal(await work.poll(id, { block_ms: 1 }), null);
      await sendText(t, session.id, script("- { tool: bash, input: { command: ls } }"));
      const item = await work.poll(id, { block_ms: 999 });
      assert(item !== null && item.secret !== null);
      const place = { environment_id: id };
      assert.equal((await work.ack(item.id, place)).secret, null);
      assert.equal((await work.retrieve(item.id, place)).secret, null);
      const beat = (expected_last_heartbeat: string) =>
        work.heartbeat(item.id, { ...place, expected_last_heartbeat });
      const first = await beat("NO_HEARTBEAT");
      const second = await beat(first.last_heartbeat);
      await refused(beat(first.last_heartbeat), {
        status: 412,
        code: "heartbeat_precondition_failed",
      });
      await beat(second.last_heartbeat);
    },
  ),
  scenario(
    "an interrupted call of a worker is closed by the server, and a late result is refused",
    {
      verifies: ["wrong.6.interrupted-call", "wrong.6.late-result"],
      rows: [94],
      deferred: DEFERRED_WORK,
    },
    async (t) => {
      const { id } = await newEnvironment(t, SELF_HOSTED);
      const session = await newSession(t, { environment_id: id });
      const watch = await Watch.open(t, session.id);
      await sendText(t, session.id, script("- { tool: bash, input: { command: ls } }"));
      const call = await watch.untilType("agent.tool_use");
      await interrupt(t, session.id);
      await watch.until(
        (event) =>
          event.type === "session.status_idle" && event.stop_reason.type !== "requires_action",
      );
      await watch.close();
      const [closer] = eventsOf(await historyOf(t, session.id), "user.tool_result");
      assertHas(closer ?? {}, { tool_use_id: call.id, is_error: true });
      const late = { type: "user.tool_result", tool_use_id: call.id };
      assertRefused(await send(t, session.id, [late]), { status: 400 });
    },
  ),
  scenario(
    "a self-hosted session takes memory stores, and no other resource",
    { verifies: ["wrong.23.resources"], deferred: DEFERRED_WORK },
    async (t) => {
      const environment = await newEnvironment(t, SELF_HOSTED);
      const store = await t.client.beta.memoryStores.create({ name: t.unique("store") });
      const place = { environment_id: environment.id };
      await newSession(t, {
        ...place,
        resources: [{ type: "memory_store", memory_store_id: store.id }],
      });
      const file = await t.client.beta.files.upload({
        file: await toFile(Buffer.from("x"), "x.txt"),
      });
      const resources = [{ type: "file" as const, file_id: file.id }];
      await refused(newSession(t, { ...place, resources }), { status: 400, says: /resources/ });
    },
  ),
  scenario(
    "the memory store of a session is addressed by the store's id",
    { verifies: ["wrong.32.memory-resource"], rows: [33] },
    async (t) => {
      const store = await t.client.beta.memoryStores.create({ name: t.unique("store") });
      const session = await newSession(t, {
        resources: [{ type: "memory_store", memory_store_id: store.id }],
      });
      const { resources } = t.client.beta.sessions;
      assertHas(await resources.retrieve(store.id, { session_id: session.id }), {
        type: "memory_store",
        memory_store_id: store.id,
      });
      assert.equal((await all(resources.list(session.id))).length, 1);
    },
  ),
  scenario(
    "a webhook is signed with a secret in standard base64",
    {
      verifies: ["wrong.28.webhooks"],
      rows: [120],
      deferred: "webhooks are not built yet",
    },
    async (t) => {
      const secret = await webhookSecret(t);
      const key = secret.replace(/^whsec_/, "");
      assert.equal(Buffer.from(key, "base64").toString("base64"), key);
    },
  ),
];

/** Makes an endpoint for webhooks; gives the secret that is told once. */
async function webhookSecret(t: Target): Promise<string> {
  const answer = await t.request("POST", "/v1/drover/webhooks", {
    body: { url: "https://hooks.example.com/drover", types: ["session.idled"] },
  });
  return accepted(answer).signing_secret;
}
