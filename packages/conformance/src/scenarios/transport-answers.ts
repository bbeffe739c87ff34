import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { accepted, assertRefused, refused } from "../support/expect.ts";
import { newAgent, newEnvironment, newSession, sharedAgent } from "../support/fixtures.ts";
import { Resources } from "../support/resources.ts";
import type { Target } from "../target.ts";

const JSON_TYPE = { "content-type": "application/json" };

/** What an answer looks like: bodies, headers, errors, retries, ids. */
export const transportAnswers: readonly Scenario[] = [
  scenario(
    "an answer is JSON with a request-id of its own",
    { verifies: ["transport.answer.json", "transport.answer.request-id"] },
    async (t) => {
      const answers = [
        await t.request("GET", "/v1/agents?limit=1"),
        await t.request("POST", "/v1/environments", { body: { name: t.unique("answer") } }),
        await t.request("GET", "/v1/agents/agent_nobody"),
      ];
      const ids = new Set(answers.map(({ headers }) => headers.get("request-id")));
      assert.equal(ids.size, 3);
      assert.equal(ids.has(null), false);
      for (const { headers, text } of answers) {
        assert.match(headers.get("content-type") ?? "", /^application\/json/);
        assert.notEqual(text, "");
      }
      assert.deepEqual(
        answers.map(({ status }) => status),
        [200, 200, 404],
      );
    },
  ),
  scenario(
    "what is deleted leaves a tombstone in the answer",
    { verifies: ["transport.answer.tombstone"] },
    async (t) => {
      const resources = new Resources(t);
      for (const [path, type] of [
        ["/v1/sessions/{session_id}/resources/{resource_id}", "session_resource_deleted"],
        ["/v1/sessions/{session_id}", "session_deleted"],
        ["/v1/environments/{environment_id}", "environment_deleted"],
        ["/v1/files/{file_id}", "file_deleted"],
        ["/v1/vaults/{vault_id}/credentials/{credential_id}", "vault_credential_deleted"],
        ["/v1/vaults/{vault_id}", "vault_deleted"],
        ["/v1/memory_stores/{memory_store_id}/memories/{memory_id}", "memory_deleted"],
        ["/v1/memory_stores/{memory_store_id}", "memory_store_deleted"],
        ["/v1/skills/{skill_id}/versions/{version}", "skill_version_deleted"],
        ["/v1/skills/{skill_id}", "skill_deleted"],
      ] as const) {
        const address = await resources.path(path);
        const id = decodeURIComponent(address.split("/").at(-1) ?? "");
        assert.deepEqual(accepted(await t.request("DELETE", address)), { id, type });
      }
    },
  ),
  scenario(
    "the client's error has everything that the envelope says",
    {
      verifies: [
        "transport.error.envelope",
        "transport.error.request-id",
        "transport.error.404",
        "transport.error.details",
      ],
      rows: [2],
    },
    async (t) => {
      const error = await refused(t.client.beta.agents.retrieve("agent_x"), {
        status: 404,
        type: "not_found_error",
        says: /agent_x/,
      });
      assert.equal(error.constructor.name, "NotFoundError");
      assert.match(error.requestID ?? "", /^req_/);
      const { body, headers } = await t.request("GET", "/v1/agents/agent_x");
      assert.deepEqual(Object.keys(body).sort(), ["error", "request_id", "type"]);
      assert.deepEqual(Object.keys(body.error).sort(), ["message", "type"]);
      assert.equal(body.request_id, headers.get("request-id"));
    },
  ),
  scenario(
    "a refusal names the field that is wrong",
    { verifies: ["transport.error.names", "transport.error.400"] },
    async (t) => {
      const create = (body: object) =>
        t.client.post("/v1/agents", { body: { name: "a", model: t.model, ...body } });
      await create({});
      for (const [body, says] of [
        [{ name: 7 }, /name/],
        [{ colour: "red" }, /colour/],
        [{ metadata: { a: 1 } }, /metadata\.a/],
        [{ tools: [{ type: "custom", name: "x", description: "d" }] }, /tools\.0\.input_schema/],
      ] as const) {
        const error = await refused(create(body), {
          status: 400,
          type: "invalid_request_error",
          says,
        });
        assert.equal(error.constructor.name, "BadRequestError");
      }
    },
  ),
  scenario(
    "an error_code makes a class of the client's own",
    { verifies: ["transport.error.code-class"], rows: [3] },
    async (t) => {
      const { id } = await newEnvironment(t);
      await t.client.beta.environments.update(id, { description: "still open" });
      await t.client.beta.environments.archive(id);
      const error = await refused(t.client.beta.environments.update(id, { name: "late" }), {
        status: 400,
        code: "environment_archived",
      });
      assert.match(error.constructor.name, /EnvironmentArchived/);
    },
  ),
  scenario(
    "bodies are JSON in UTF-8 and uncompressed",
    {
      verifies: [
        "transport.error.charset",
        "transport.error.encoding",
        "transport.error.utf-8",
        "transport.error.json",
        "transport.error.media-type",
      ],
    },
    async (t) => {
      const body = JSON.stringify({ name: "a", model: t.model });
      const post = (sent: string | Uint8Array<ArrayBuffer>, headers: Record<string, string>) =>
        t.request("POST", "/v1/agents", { body: sent, headers });
      accepted(await post(body, JSON_TYPE));
      accepted(await post(body, { "content-type": "application/json; charset=UTF-8" }));
      const latin = await post(body, { "content-type": "application/json; charset=latin1" });
      assertRefused(latin, { status: 400, code: "unsupported_charset" });
      const packed = await post(body, { ...JSON_TYPE, "content-encoding": "gzip" });
      assertRefused(packed, { status: 400, code: "request_body_encoding_unsupported" });
      const bytes = await post(new Uint8Array([0x22, 0xff, 0x22]), JSON_TYPE);
      assertRefused(bytes, { status: 400, code: "request_body_encoding_invalid" });
      for (const text of ["{", "[]", "null", '"text"', `${body}${body}`]) {
        assertRefused(await post(text, JSON_TYPE), { status: 400, type: "invalid_request_error" });
      }
      for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/xml"]) {
        assertRefused(await post(body, { "content-type": type }), { status: 400 });
      }
    },
  ),
  scenario(
    "a body of more than 32 MB is refused with 413",
    { verifies: ["transport.error.413"] },
    async (t) => {
      const ask = (bytes: number) =>
        t.request("POST", "/v1/agents", { body: " ".repeat(bytes), headers: JSON_TYPE });
      assertRefused(await ask(1024), { status: 400 });
      const answer = await ask(32 * 1024 * 1024 + 1);
      assertRefused(answer, { status: 413 });
    },
  ),
  scenario(
    "what cannot change is asked once by a client that would retry",
    {
      verifies: [
        "transport.retry.conflict",
        "transport.retry.unbuilt",
        "transport.error.409",
        "transport.error.501",
      ],
      rows: [4],
    },
    async (t) => {
      const { attempts, client } = counting(t);
      const { id: store } = await client.beta.memoryStores.create({ name: t.unique("store") });
      const memory = await client.beta.memoryStores.memories.create(store, {
        path: "/a",
        content: "one",
      });
      const before = attempts();
      const stale = { type: "content_sha256" as const, content_sha256: "0".repeat(64) };
      const update = client.beta.memoryStores.memories.update(memory.id, {
        memory_store_id: store,
        content: "two",
        precondition: stale,
      });
      const conflict = await refused(update, { status: 409 });
      assert.equal(conflict.constructor.name, "ConflictError");
      assert.equal(attempts() - before, 1);
      const unbuilt = await refused(client.beta.dreams.list(), { status: 501 });
      assert.equal(unbuilt.constructor.name, "NotImplementedError");
      assert.equal(attempts() - before, 2);
    },
  ),
  scenario(
    "a retried POST takes effect once",
    { verifies: ["transport.retry.once", "transport.retry.anew", "transport.retry.key"] },
    async (t) => {
      const body = { name: t.unique("retried"), model: t.model };
      const create = async (headers: Record<string, string>) =>
        accepted(await t.request("POST", "/v1/agents", { body, headers })).id;
      const first = await create({ "x-stainless-retry-count": "0" });
      assert.equal(await create({ "x-stainless-retry-count": "1" }), first);
      assert.notEqual(await create({ "x-stainless-retry-count": "0" }), first);
      assert.notEqual(await create({}), first);
      const key = { "idempotency-key": t.unique("key") };
      assert.equal(await create(key), await create(key));
    },
  ),
  scenario(
    "ids begin with what they are of",
    { verifies: ["transport.id.prefixes"] },
    async (t) => {
      const resources = new Resources(t);
      for (const [name, prefix] of [
        ["agent_id", "agent_"],
        ["environment_id", "env_"],
        ["session_id", "sesn_"],
        ["thread_id", "sthr_"],
        ["resource_id", "sesrsc_"],
        ["file_id", "file_"],
        ["vault_id", "vlt_"],
        ["credential_id", "vcrd_"],
        ["memory_store_id", "memstore_"],
        ["memory_id", "mem_"],
        ["memory_version_id", "memver_"],
        ["skill_id", "skill_"],
        ["version", "skver_"],
      ] as const) {
        const id = await resources.id(name);
        assert.equal(id.startsWith(prefix), true, `${name} ${id}`);
      }
      const session = await newSession(t, { agent: (await sharedAgent(t)).id });
      assert.match(session.id, /^sesn_/);
      assert.equal((await newAgent(t)).id.length < 64, true);
    },
  ),
];

/** The client as it is by default, with its two retries, and a count of what it sends. */
function counting(t: Target) {
  let sent = 0;
  const client = t.clientWith({
    maxRetries: 2,
    fetch: (input, init) => {
      sent += 1;
      return fetch(input, init);
    },
  });
  return { client, attempts: () => sent };
}
