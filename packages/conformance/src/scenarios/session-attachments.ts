import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { assertHas, assertRefused, assertTime, refused } from "../support/expect.ts";
import { newSession } from "../support/fixtures.ts";
import { historyOf, runTurn, script } from "../support/turns.ts";
import type { Target } from "../target.ts";

const URL = "https://github.com/anthropics/anthropic-sdk-typescript";

const repository = (fields: object = {}) => ({
  type: "github_repository" as const,
  url: URL,
  ...fields,
});

const attached = (memory_store_id: string, fields: object = {}) => ({
  type: "memory_store" as const,
  memory_store_id,
  ...fields,
});

async function newStore(t: Target, fields: { name?: string; description?: string } = {}) {
  return await t.client.beta.memoryStores.create({ name: t.unique("Store"), ...fields });
}

const repositories: readonly Scenario[] = [
  scenario(
    "repositories are attached with a default place and any checkout, and no token is told",
    {
      verifies: [
        "resources.repository.shape",
        "resources.repository.default-path",
        "resources.repository.token-secret",
        "resources.repository.token-optional",
        "resources.repository.checkout",
      ],
      rows: [33],
    },
    async (t) => {
      const branch = { type: "branch" as const, name: "main" };
      const commit = { type: "commit" as const, sha: "0123456789abcdef0123456789abcdef01234567" };
      const authorization_token = t.unique("ghp");
      const { id, resources } = await newSession(t, {
        resources: [
          repository({ authorization_token, checkout: branch }),
          repository({ checkout: commit, mount_path: "/workspace/second" }),
          repository({ checkout: null, mount_path: "/workspace/third" }),
        ],
      });
      const checkouts = [branch, commit, null];
      const paths = ["anthropic-sdk-typescript", "second", "third"];
      for (const [index, resource] of resources.entries()) {
        assert.ok(resource.type === "github_repository");
        assert.match(resource.id, /^sesrsc_/);
        assertHas(resource, { url: URL, mount_path: `/workspace/${paths[index]}` });
        assert.deepEqual(resource.checkout ?? null, checkouts[index]);
        assertTime(resource.created_at);
        assertTime(resource.updated_at);
      }
      for (const path of ["", "/resources", "/events"]) {
        const { text } = await t.request("GET", `/v1/sessions/${id}${path}`);
        assert.ok(!text.includes(authorization_token), `the token is told at ${path}`);
      }
    },
  ),

  scenario(
    "a repository that cannot be is refused",
    { verifies: ["resources.repository.url"], rows: [33] },
    async (t) => {
      for (const url of [
        "not a url",
        `${URL}.git`,
        "http://github.com/a/b",
        "https://github.com/a",
      ]) {
        const refusal = { status: 400, says: /resources\.0\.url/ };
        await refused(newSession(t, { resources: [repository({ url })] }), refusal);
      }
      const outside = repository({ mount_path: "/etc/repository" });
      await refused(newSession(t, { resources: [outside] }), { status: 400, says: /mount_path/ });
      const twice = [repository(), repository()];
      await refused(newSession(t, { resources: twice }), { status: 400 });
      await newSession(t, { resources: [repository(), repository({ mount_path: "other" })] });
    },
  ),

  scenario(
    "a repository takes a new token, and stays for the session's life",
    { verifies: ["resources.repository.rotate"], rows: [43] },
    async (t) => {
      const session = await newSession(t, { resources: [repository()] });
      const [before] = session.resources;
      assert.ok(before?.type === "github_repository");
      const { resources } = t.client.beta.sessions;
      const params = { session_id: session.id, authorization_token: t.unique("ghp") };
      const updated = await resources.update(before.id, params);
      assert.deepEqual({ ...updated, updated_at: before.updated_at }, before);
      const answer = await t.request("GET", `/v1/sessions/${session.id}/resources/${before.id}`);
      assert.deepEqual(answer.body, updated);
      assert.ok(!answer.text.includes(params.authorization_token));
      await refused(resources.delete(before.id, { session_id: session.id }), { status: 400 });
    },
  ),

  scenario(
    "a repository that cannot be had is told, and the session goes on without",
    { verifies: ["resources.repository.error"], rows: [33] },
    async (t) => {
      // Its server is not there, whatever a server can clone.
      const url = "https://repositories.invalid/nobody/nothing";
      const { id } = await newSession(t, { resources: [repository({ url })] });
      const text = script("- { tool: bash, input: { command: pwd } }\n- say: done");
      const turn = await runTurn(t, id, text);
      assertHas(turn.at(-1) ?? {}, { stop_reason: { type: "end_turn" } });
      const told = (await historyOf(t, id)).flatMap((event) =>
        event.type === "session.error" ? [event.error] : [],
      );
      const [error] = told;
      assert.match(String(error?.type), /^repository_\w+_error$/);
      assertHas(error ?? {}, { repository_url: url, retry_status: { type: "retrying" } });
    },
  ),
];

const memoryStores: readonly Scenario[] = [
  scenario(
    "memory stores are attached as they are then, at a place made of their name",
    {
      verifies: [
        "resources.memory.shape",
        "resources.memory.mount-path",
        "resources.memory.snapshot",
        "resources.life.snapshot",
        "resources.memory.access",
        "resources.memory.instructions",
        "resources.quota.instructions",
      ],
      rows: [33],
    },
    async (t) => {
      const name = t.unique("Team Notes");
      const noted = await newStore(t, { name, description: "What we know" });
      const plain = await newStore(t);
      const instructions = "i".repeat(4096);
      const { id, resources } = await newSession(t, {
        resources: [attached(noted.id), attached(plain.id, { access: "read_only", instructions })],
      });
      const slug = (text: string) =>
        `/mnt/memory/${text.toLowerCase().replace(/[^a-z0-9]+/g, "-")}`;
      const type = "memory_store";
      assert.deepEqual(resources, [
        {
          type,
          memory_store_id: noted.id,
          access: "read_write",
          instructions: null,
          name,
          description: "What we know",
          mount_path: slug(name),
        },
        {
          type,
          memory_store_id: plain.id,
          access: "read_only",
          instructions,
          name: plain.name,
          description: "",
          mount_path: slug(plain.name),
        },
      ]);
      await t.client.beta.memoryStores.update(noted.id, { name: t.unique("Renamed") });
      assert.deepEqual((await t.client.beta.sessions.retrieve(id)).resources, resources);
      const long = attached(plain.id, { instructions: "i".repeat(4097) });
      await refused(newSession(t, { resources: [long] }), { status: 400, says: /instructions/ });
      const odd = attached(plain.id, { access: "write_only" });
      await refused(newSession(t, { resources: [odd] }), { status: 400, says: /access/ });
    },
  ),

  scenario(
    "memory stores must be there and unarchived, and are at most eight",
    {
      verifies: ["resources.memory.unknown", "resources.memory.archived", "resources.memory.max"],
      rows: [33],
    },
    async (t) => {
      const stores = await Promise.all(Array.from({ length: 9 }, () => newStore(t)));
      const ids = stores.map(({ id }) => id);
      const attach = (...some: string[]) =>
        newSession(t, { resources: some.map((id) => attached(id)) });
      await refused(attach("memstore_nobody"), { status: 404, says: /memstore_nobody/ });
      await refused(attach(...ids), { status: 400, says: /8/ });
      const [first = "", ...eight] = ids;
      assert.equal((await attach(...eight)).resources.length, 8);
      assert.equal((await attach(first)).resources.length, 1);
      await t.client.beta.memoryStores.archive(first);
      await refused(attach(first), { status: 400, says: /archived/ });
    },
  ),

  scenario(
    "a memory store is addressed by its id, and sessions are found by it",
    {
      verifies: ["resources.memory.address", "resources.memory.kept", "sessions.list.memory-store"],
      rows: [39, 43],
    },
    async (t) => {
      const { sessions } = t.client.beta;
      const store = await newStore(t);
      const other = await newStore(t);
      const session = await newSession(t, { resources: [attached(store.id)] });
      await newSession(t, { resources: [attached(other.id)] });
      const session_id = session.id;
      const [resource] = session.resources;
      assert.deepEqual(await sessions.resources.retrieve(store.id, { session_id }), resource);
      await refused(sessions.resources.retrieve(other.id, { session_id }), { status: 404 });
      const update = { session_id, authorization_token: "ghp_1" };
      await refused(sessions.resources.update(store.id, update), { status: 400 });
      const found = async (memory_store_id: string, more: object = {}) =>
        (await sessions.list({ memory_store_id, ...more })).data.map(({ id }) => id);
      assert.deepEqual(await found(store.id), [session_id]);
      assert.deepEqual(await found("memstore_nobody"), []);
      await sessions.archive(session_id);
      assert.deepEqual(await found(store.id), []);
      assert.deepEqual(await found(store.id, { include_archived: true }), [session_id]);
      await sessions.delete(session_id);
      assert.deepEqual(await found(store.id, { include_archived: true }), []);
    },
  ),
];

const vaults: readonly Scenario[] = [
  scenario(
    "vaults are attached in their order, and must be there",
    { verifies: ["sessions.create.vaults", "sessions.create.vault-unknown"], rows: [30] },
    async (t) => {
      const newVault = () => t.client.beta.vaults.create({ display_name: t.unique("vault") });
      const one = (await newVault()).id;
      const two = (await newVault()).id;
      const { id, vault_ids } = await newSession(t, { vault_ids: [two, one] });
      assert.deepEqual(vault_ids, [two, one]);
      assert.deepEqual((await t.client.beta.sessions.retrieve(id)).vault_ids, [two, one]);
      const unknown = newSession(t, { vault_ids: [one, "vlt_nobody"] });
      await refused(unknown, { status: 404, says: /vlt_nobody/ });
      await t.client.beta.vaults.archive(one);
      await refused(newSession(t, { vault_ids: [one] }), { status: 400, says: /archived/ });
      const none = await t.request("GET", `/v1/sessions/${id}`);
      assertHas(none.body, { vault_ids: [two, one] });
      assertRefused(await t.request("POST", `/v1/sessions/${id}`, { body: { vault_ids: [] } }), {
        status: 400,
      });
    },
  ),
];

export const sessionAttachments: readonly Scenario[] = [
  ...repositories,
  ...memoryStores,
  ...vaults,
];
