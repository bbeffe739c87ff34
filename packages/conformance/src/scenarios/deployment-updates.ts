import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { many } from "../support/agents.ts";
import {
  cron,
  deploymentWith,
  NO_DEPLOYMENTS,
  notUpdatedDeployment,
  updatedDeployment,
} from "../support/deployments.ts";
import { all, assertHas, assertTime, refused } from "../support/expect.ts";
import { newAgent } from "../support/fixtures.ts";
import { message } from "../support/turns.ts";
import { newVault } from "../support/vaults.ts";

const deferred = NO_DEPLOYMENTS;

/** Changing, pausing, archiving and listing deployments. */
export const deploymentUpdates: readonly Scenario[] = [
  scenario(
    "an update of a deployment keeps, replaces, patches and clears",
    {
      verifies: [
        "deployments.update.keep",
        "deployments.update.name",
        "deployments.update.events",
        "deployments.update.description",
        "deployments.update.metadata",
        "deployments.update.lists",
        "deployments.update.schedule",
      ],
      rows: [95],
      deferred,
    },
    async (t) => {
      const vault = await newVault(t);
      const fields = { description: "d", metadata: { a: "1", b: "2" }, vault_ids: [vault.id] };
      const made = await deploymentWith(t, { ...fields, ...cron("0 9 * * *") });
      assertHas(await updatedDeployment(t, made, {}), fields);
      for (const field of ["name", "environment_id", "initial_events"]) {
        await notUpdatedDeployment(t, made, { [field]: null }, new RegExp(field));
      }
      await notUpdatedDeployment(t, made, { name: "" }, /name/);
      await notUpdatedDeployment(t, made, { initial_events: [] }, /initial_events/);
      const tooMany = many(51, () => message("m"));
      await notUpdatedDeployment(t, made, { initial_events: tooMany }, /initial_events/);
      const replaced = { name: "renamed", initial_events: [message("other")] };
      const metadata = { a: null, c: "3" };
      const changed = await updatedDeployment(t, made, { ...replaced, metadata });
      assertHas(changed, { ...replaced, description: "d" });
      assert.deepEqual(changed.metadata, { b: "2", c: "3" });
      for (const description of ["", null]) {
        assertHas(await updatedDeployment(t, made, { description: "again" }), {
          description: "again",
        });
        assertHas(await updatedDeployment(t, made, { description }), { description: null });
      }
      for (const vault_ids of [[], null]) {
        await updatedDeployment(t, made, { vault_ids: [vault.id] });
        assertHas(await updatedDeployment(t, made, { vault_ids }), { vault_ids: [] });
      }
      assertHas(await updatedDeployment(t, made, { resources: null }), { resources: [] });
      const later = cron("0 10 * * *", "Europe/Berlin");
      assertHas(await updatedDeployment(t, made, later), later);
      assertHas(await updatedDeployment(t, made, { schedule: null }), { schedule: null });
    },
  ),

  scenario(
    "an update pins the agent anew",
    { verifies: ["deployments.update.agent"], rows: [95], deferred },
    async (t) => {
      const agent = await newAgent(t);
      const { id } = agent;
      const made = await deploymentWith(t, { agent: id });
      await t.client.beta.agents.update(id, { version: agent.version, description: "second" });
      const versionAfter = async (fields: object) =>
        (await updatedDeployment(t, made, fields)).agent.version;
      assert.equal(await versionAfter({ description: "d" }), 1);
      assert.equal(await versionAfter({ agent: id }), 2);
      assert.equal(await versionAfter({ agent: { type: "agent", id, version: 1 } }), 1);
      await notUpdatedDeployment(t, made, { agent: null }, /agent/);
    },
  ),

  scenario(
    "a deployment's budget is cleared and added again",
    { verifies: ["deployments.update.budget"], rows: [95], deferred },
    async (t) => {
      const agent = await newAgent(t);
      const budget = { type: "limit", max_list_cost: { amount: "1.50", currency: "USD" } };
      const made = await deploymentWith(t, { agent: agent.id, budget });
      assertHas(made, { budget });
      const cleared = await updatedDeployment(t, made, { budget: null });
      assert.equal(cleared.budget ?? null, null);
      assertHas(await updatedDeployment(t, made, { budget }), { budget });
    },
  ),

  scenario(
    "a deployment is paused and goes on",
    {
      verifies: ["deployments.pause", "deployments.pause.upcoming", "deployments.unpause"],
      rows: [98],
      deferred,
    },
    async (t) => {
      const { deployments: api } = t.client.beta;
      const made = await deploymentWith(t, cron("0 9 * * *"));
      const paused = await api.pause(made.id);
      assertHas(paused, { id: made.id, status: "paused", paused_reason: { type: "manual" } });
      assert.ok((paused.schedule?.upcoming_runs_at ?? []).length > 0);
      assertHas(await api.retrieve(made.id), { status: "paused" });
      const active = { status: "active", paused_reason: null };
      assertHas(await api.unpause(made.id), active);
      assertHas(await api.retrieve(made.id), active);
    },
  ),

  scenario(
    "an archived deployment is active and has nothing before it",
    {
      verifies: ["deployments.archive", "deployments.archive.upcoming"],
      rows: [99],
      deferred,
    },
    async (t) => {
      const { deployments: api } = t.client.beta;
      const made = await deploymentWith(t, cron("0 9 * * *"));
      await api.pause(made.id);
      const archived = await api.archive(made.id);
      assertTime(archived.archived_at);
      assertHas(archived, { id: made.id, status: "active", paused_reason: null });
      assert.deepEqual(archived.schedule?.upcoming_runs_at ?? [], []);
      assert.deepEqual(await api.retrieve(made.id), archived);
    },
  ),

  scenario(
    "deployments are listed by agent, status and whether they are archived",
    {
      verifies: ["deployments.list", "deployments.list.status", "deployments.list.paged"],
      rows: [99],
      deferred,
    },
    async (t) => {
      const { deployments: api } = t.client.beta;
      const { id: agent_id } = await newAgent(t);
      const made = await Promise.all(many(4, () => deploymentWith(t, { agent: agent_id })));
      const [paused, archived, ...active] = made.map(({ id }) => id);
      await api.pause(paused ?? "");
      await api.archive(archived ?? "");
      const listed = async (params: object) =>
        (await all(api.list({ agent_id, limit: 1, ...params }))).map(({ id }) => id).sort();
      assert.deepEqual(await listed({}), [paused ?? "", ...active].sort());
      assert.deepEqual(await listed({ status: "paused" }), [paused]);
      assert.deepEqual(await listed({ status: "active" }), active.toSorted());
      const everything = made.map(({ id }) => id).sort();
      assert.deepEqual(await listed({ include_archived: true }), everything);
      await refused(api.list({ status: "active", include_archived: true }), {
        status: 400,
        type: "invalid_request_error",
        says: /include_archived/,
      });
    },
  ),
];
