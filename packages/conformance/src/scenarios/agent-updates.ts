import assert from "node:assert/strict";
import { APIError } from "@anthropic-ai/sdk";
import { type Scenario, scenario } from "../scenario.ts";
import {
  agentWith,
  configured,
  connected,
  custom,
  noAgentWith,
  notUpdated,
  pairs,
  TOOLSET,
  updated,
} from "../support/agents.ts";
import { all, assertHas, refused } from "../support/expect.ts";
import { newAgent } from "../support/fixtures.ts";

const ROLE = { type: "aws_role", role_arn: "arn:aws:iam::123456789012:role/runner" };

/** The update verbs of an agent, and its versions. */
export const agentUpdates: readonly Scenario[] = [
  scenario(
    "what an update leaves out is kept",
    {
      verifies: [
        "agents.update.keep",
        "agents.update.name",
        "agents.update.name-cleared",
        "agents.update.identity-kept",
        "agents.update.unknown-field",
        "agents.update.whole",
        "agents.update.increment",
      ],
      rows: [16],
    },
    async (t) => {
      const agent = await agentWith(t, {
        description: "d",
        system: "s",
        metadata: { a: "1" },
        execution_identity: ROLE,
        multiagent: { type: "multiagent_20261001" },
        ...connected("one"),
      });
      const renamed = await updated(t, agent, { name: "renamed" });
      const { updated_at } = renamed;
      assert.deepEqual(renamed, { ...agent, name: "renamed", version: 2, updated_at });
      await notUpdated(t, agent, { name: "" }, /name/);
      await notUpdated(t, agent, { name: null }, /name/);
      await notUpdated(t, agent, { description: "new", colour: "red" }, /colour/);
      assert.deepEqual(await t.client.beta.agents.retrieve(agent.id), renamed);
    },
  ),

  scenario(
    "a model is replaced as a whole, but for its effort",
    {
      verifies: [
        "agents.update.model-replaced",
        "agents.update.model-cleared",
        "agents.update.geo-cleared",
        "agents.update.effort-kept",
        "agents.update.effort-replaced",
        "agents.update.differences",
      ],
      rows: [16],
    },
    async (t) => {
      const model = { id: t.model, effort: "low", inference_geo: "us" };
      const agent = await agentWith(t, { model });
      const kept = { id: t.model, effort: { type: "low" }, speed: "standard" };
      assert.deepEqual((await updated(t, agent, { model: { id: t.model } })).model, kept);
      assert.deepEqual((await updated(t, agent, { model: t.model })).model, kept);
      const other = await updated(t, agent, { model: { id: "another-model", effort: null } });
      assert.deepEqual(other.model, { ...kept, id: "another-model" });
      const max = await updated(t, agent, { model: { id: t.model, effort: "max" } });
      assert.deepEqual(max.model, { ...kept, effort: { type: "max" } });
      await notUpdated(t, agent, { model: null }, /model/);
      await notUpdated(t, agent, { model: "" }, /model/);
    },
  ),

  scenario(
    "null and nothing clear description and system",
    {
      verifies: [
        "agents.update.text-null",
        "agents.update.text-empty",
        "agents.update.text-limits",
        "agents.update.differences",
      ],
      rows: [16],
    },
    async (t) => {
      const texts = { description: "d", system: "s" };
      const agent = await agentWith(t, texts);
      const cleared = { description: null, system: null };
      assertHas(await updated(t, agent, { description: "", system: "" }), cleared);
      assertHas(await updated(t, agent, texts), texts);
      assertHas(await updated(t, agent, cleared), cleared);
      const longest = { description: "d".repeat(2048), system: "s".repeat(100_000) };
      assertHas(await updated(t, agent, longest), longest);
      await notUpdated(t, agent, { description: "d".repeat(2049) }, /description/);
      await notUpdated(t, agent, { system: "s".repeat(100_001) }, /system/);
    },
  ),

  scenario(
    "metadata is patched by key, and only null deletes one",
    {
      verifies: [
        "agents.update.metadata-set",
        "agents.update.metadata-delete",
        "agents.update.metadata-empty",
        "agents.update.metadata-null",
        "agents.update.metadata-max",
        "agents.update.differences",
      ],
      rows: [16],
    },
    async (t) => {
      const agent = await agentWith(t, { metadata: { a: "1", b: "2" } });
      const after = async (metadata: object | null) =>
        (await updated(t, agent, { metadata })).metadata;
      assert.deepEqual(await after({ c: "3" }), { a: "1", b: "2", c: "3" });
      assert.deepEqual(await after({ a: null, absent: null }), { b: "2", c: "3" });
      assert.deepEqual(await after({ b: "" }), { b: "", c: "3" });
      assert.deepEqual(await after(null), { b: "", c: "3" });
      assert.deepEqual(await after({}), { b: "", c: "3" });
      await notUpdated(t, agent, { metadata: pairs(15) }, /metadata/);
      const full = await after({ ...pairs(15), b: null });
      assert.equal(Object.keys(full).length, 16);
    },
  ),

  scenario(
    "lists are replaced, and cleared by null or an empty list",
    {
      verifies: [
        "agents.update.tools-replaced",
        "agents.update.tools-cleared",
        "agents.update.servers-replaced",
        "agents.update.servers-cleared",
      ],
      rows: [16],
    },
    async (t) => {
      const agent = await agentWith(t, { tools: [{ type: TOOLSET }, custom("one")] });
      assert.deepEqual((await updated(t, agent, { tools: [custom("two")] })).tools, [
        custom("two"),
      ]);
      assert.deepEqual((await updated(t, agent, { tools: [] })).tools, []);
      await updated(t, agent, { tools: [custom("two")] });
      assert.deepEqual((await updated(t, agent, { tools: null })).tools, []);

      await updated(t, agent, connected("one"));
      const replaced = await updated(t, agent, connected("two"));
      assert.deepEqual(
        replaced.mcp_servers.map(({ name }) => name),
        ["two"],
      );
      const nothing = { mcp_servers: [], tools: [] };
      assertHas(await updated(t, agent, nothing), nothing);
      await updated(t, agent, connected("two"));
      assertHas(await updated(t, agent, { mcp_servers: null, tools: null }), nothing);
    },
  ),

  scenario(
    "tools and servers must still fit together after an update",
    {
      verifies: [
        "agents.update.cross-servers",
        "agents.update.cross-tools",
        "agents.update.cross-sources",
        "agents.update.whole",
      ],
      rows: [13, 16],
    },
    async (t) => {
      const agent = await agentWith(t, connected("one"));
      await notUpdated(t, agent, { tools: [] }, /mcp_servers.*one/);
      await notUpdated(t, agent, { mcp_servers: null }, /tools.*one/);
      await notUpdated(t, agent, { mcp_servers: connected("two").mcp_servers }, /one|two/);
      await notUpdated(t, agent, { tools: connected("two").tools }, /one|two/);
      assert.deepEqual(await t.client.beta.agents.retrieve(agent.id), agent);
      const address = connected("one", { url: "https://elsewhere.example.com/" }).mcp_servers;
      assertHas(await updated(t, agent, { mcp_servers: address }), { mcp_servers: address });

      const only = { type: "only", tools: [{ type: "tool_reference", name: "lookup" }] };
      const fetching = configured({
        name: "web_fetch",
        url_sources: { client_tool_results: only },
      });
      const fetcher = await agentWith(t, { tools: [...fetching, custom("lookup")] });
      await notUpdated(t, fetcher, { tools: fetching }, /lookup/);
      await noAgentWith(t, { tools: fetching }, /lookup/);
    },
  ),

  scenario(
    "an execution identity is kept, replaced, or restored",
    {
      verifies: ["agents.update.identity-replaced", "agents.update.identity-null"],
      rows: [16],
    },
    async (t) => {
      const agent = await newAgent(t);
      const service = { execution_identity: { type: "service_account" } };
      const role = { execution_identity: ROLE };
      assertHas(await updated(t, agent, role), role);
      assertHas(await updated(t, agent, { execution_identity: null }), service);
      assertHas(await updated(t, agent, role), role);
      assertHas(await updated(t, agent, service), service);
    },
  ),

  scenario(
    "multiagent null clears, and a coordinator is replaced whole",
    {
      verifies: ["agents.update.multiagent-null", "agents.update.multiagent-replaced"],
      rows: [16],
    },
    async (t) => {
      const [one, two] = [await newAgent(t), await newAgent(t)];
      const agent = await agentWith(t, {
        multiagent: { type: "coordinator", agents: [one.id, { type: "self" }] },
      });
      const replaced = await updated(t, agent, {
        multiagent: { type: "coordinator", agents: [two.id] },
      });
      assert.deepEqual(replaced.multiagent, {
        type: "coordinator",
        agents: [{ type: "agent", id: two.id, version: 1 }],
      });
      assert.equal((await updated(t, agent, { multiagent: null })).multiagent, null);
    },
  ),

  scenario(
    "a version is made by a change only, and those before stay as they were",
    {
      verifies: [
        "agents.update.increment",
        "agents.update.updated-at",
        "agents.update.no-change",
        "agents.versions.append-only",
      ],
      rows: [15, 17],
    },
    async (t) => {
      const { agents } = t.client.beta;
      const first = await agentWith(t, { description: "d", metadata: { a: "1" } });
      const { name, model, description, metadata } = first;
      const same = [{}, { name, description, metadata }, { model }, { tools: null }];
      for (const fields of [...same, { metadata: { absent: null } }, { multiagent: null }]) {
        assert.deepEqual(await updated(t, first, fields), first);
      }
      const second = await updated(t, first, { system: "s" });
      assert.equal(second.version, 2);
      assert.equal(second.created_at, first.created_at);
      assert.ok(second.updated_at >= first.updated_at);
      assert.equal((await updated(t, first, { description: "e" })).version, 3);
      assert.deepEqual(await agents.retrieve(first.id, { version: 1 }), first);
      assert.equal((await all(agents.versions.list(first.id))).length, 3);
    },
  ),

  scenario(
    "an update with a stale version is a conflict that is tried once",
    {
      verifies: [
        "agents.update.cas-stale",
        "agents.update.cas-fresh",
        "agents.update.cas-omitted",
        "agents.update.cas-min",
        "agents.update.cas-retry",
      ],
      rows: [4, 15],
    },
    async (t) => {
      const agent = await newAgent(t);
      const second = await updated(t, agent, { version: 1, name: "second" });
      assert.equal(second.version, 2);
      const stale = { status: 409, type: "conflict_error", says: /version/ };
      let attempts = 0;
      const retrying = t.clientWith({
        maxRetries: 2,
        fetch: (url, init) => {
          attempts += 1;
          return fetch(url, init);
        },
      });
      const change = { version: 1, name: "third" };
      const error = await refused(retrying.beta.agents.update(agent.id, change), stale);
      assert.equal(error.headers?.get("x-should-retry"), "false");
      assert.equal(attempts, 1);
      await refused(updated(t, agent, { version: 1, name: "second" }), stale);
      await refused(updated(t, agent, { version: 1 }), stale);
      await refused(updated(t, agent, { version: 3, name: "third" }), stale);
      for (const version of [0, -1, 1.5, "2"]) {
        await notUpdated(t, agent, { version, name: "third" }, /version/);
      }
      assert.deepEqual(await updated(t, agent, { version: 2 }), second);
      assert.equal((await updated(t, agent, { name: "third" })).version, 3);
      assert.equal((await updated(t, agent, { version: 3, name: "fourth" })).version, 4);
    },
  ),

  scenario(
    "of updates at once with the same version one takes effect",
    { verifies: ["agents.update.cas-race", "agents.update.cas-promise"], rows: [15] },
    async (t) => {
      const agent = await newAgent(t);
      const names = ["a", "b", "c", "d"];
      const outcomes = await Promise.allSettled(
        names.map((name) => updated(t, agent, { version: 1, name })),
      );
      const [won, ...others] = outcomes.filter(({ status }) => status === "fulfilled");
      assert.ok(won?.status === "fulfilled" && others.length === 0);
      assert.deepEqual(await t.client.beta.agents.retrieve(agent.id), won.value);
      for (const outcome of outcomes) {
        if (outcome.status === "fulfilled") continue;
        assert.ok(outcome.reason instanceof APIError, String(outcome.reason));
        assert.equal(outcome.reason.status, 409);
      }
    },
  ),
];
