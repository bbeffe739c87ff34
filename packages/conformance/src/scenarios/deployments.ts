import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { many, pairs } from "../support/agents.ts";
import { cron, deploymentWith, NO_DEPLOYMENTS, noDeploymentWith } from "../support/deployments.ts";
import { assertHas, assertTime, refused } from "../support/expect.ts";
import { newAgent, sharedAgent, sharedEnvironment } from "../support/fixtures.ts";
import { message } from "../support/turns.ts";
import { newVault } from "../support/vaults.ts";

const deferred = NO_DEPLOYMENTS;
const rows = [95];

/** Making deployments; for changes see `deployment-updates.ts`, for runs `deployment-runs.ts`. */
export const deployments: readonly Scenario[] = [
  scenario(
    "a deployment is made of an agent, an environment, events and a name",
    {
      verifies: [
        "deployments.object",
        "deployments.object.times",
        "deployments.object.defaults",
        "deployments.required",
        "deployments.metadata",
      ],
      rows,
      deferred,
    },
    async (t) => {
      const agent = await sharedAgent(t);
      const made = await deploymentWith(t);
      assert.ok(made.id.length > 0);
      assertTime(made.created_at);
      assertTime(made.updated_at);
      assertHas(made, {
        type: "deployment",
        agent: { type: "agent", id: agent.id, version: agent.version },
        environment_id: (await sharedEnvironment(t)).id,
        ...{ description: null, schedule: null, paused_reason: null, archived_at: null },
        ...{ resources: [], vault_ids: [], metadata: {}, status: "active" },
      });
      assert.equal(made.budget ?? null, null);
      assert.deepEqual(await t.client.beta.deployments.retrieve(made.id), made);
      for (const field of ["name", "agent", "environment_id", "initial_events"]) {
        await noDeploymentWith(t, { [field]: undefined }, new RegExp(field));
      }
      await noDeploymentWith(t, { name: "" }, /name/);
      assertHas(await deploymentWith(t, { metadata: pairs(16) }), { metadata: pairs(16) });
      await noDeploymentWith(t, { metadata: pairs(17) }, /metadata/);
      await noDeploymentWith(t, { surplus: 1 }, /surplus/);
    },
  ),

  scenario(
    "a deployment's agent is pinned to a version",
    {
      verifies: [
        "deployments.agent.latest",
        "deployments.agent.version",
        "deployments.agent.pinned",
        "deployments.agent.overrides",
        "deployments.agent.unknown",
      ],
      rows,
      deferred,
    },
    async (t) => {
      const agent = await newAgent(t);
      const { id } = agent;
      const first = await deploymentWith(t, { agent: id });
      await t.client.beta.agents.update(id, { version: agent.version, description: "second" });
      const versionOf = async (given: unknown) =>
        (await deploymentWith(t, { agent: given })).agent.version;
      assert.equal(await versionOf(id), 2);
      assert.equal(await versionOf({ type: "agent", id }), 2);
      assert.equal(await versionOf({ type: "agent", id, version: 1 }), 1);
      assert.deepEqual(await t.client.beta.deployments.retrieve(first.id), first);
      assert.equal(first.agent.version, 1);
      const overridden = { type: "agent_with_overrides", id, system: "s" };
      await noDeploymentWith(t, { agent: overridden }, /agent/);
      const unknown = { agent: "agent_of_nobody" };
      await refused(deploymentWith(t, unknown), { status: 404, type: "not_found_error" });
    },
  ),

  scenario(
    "a deployment has one to fifty initial events",
    { verifies: ["deployments.events", "deployments.events.count"], rows, deferred },
    async (t) => {
      const outcome = {
        type: "user.define_outcome",
        description: "d",
        rubric: { type: "text", content: "r" },
      };
      const system = { type: "system.message", content: [{ type: "text", text: "s" }] };
      const initial_events = [message("one"), outcome, system];
      const made = await deploymentWith(t, { initial_events });
      assertHas(made, { initial_events });
      for (const event of made.initial_events) assert.ok(!("id" in event));
      const messages = (count: number) => many(count, (index) => message(`m${index}`));
      await deploymentWith(t, { initial_events: messages(50) });
      await noDeploymentWith(t, { initial_events: messages(51) }, /initial_events/);
      await noDeploymentWith(t, { initial_events: [] }, /initial_events/);
      const interrupt = { type: "user.interrupt" };
      await noDeploymentWith(t, { initial_events: [interrupt] }, /initial_events/);
    },
  ),

  scenario(
    "a deployment names vaults and resources, whose tokens do not come back",
    { verifies: ["deployments.vaults", "deployments.resources"], rows, deferred },
    async (t) => {
      const vault = await newVault(t);
      assertHas(await deploymentWith(t, { vault_ids: [vault.id] }), { vault_ids: [vault.id] });
      const ids = many(51, () => vault.id);
      await noDeploymentWith(t, { vault_ids: ids }, /vault_ids/);
      const repository = { type: "github_repository", url: "https://github.com/example/repo" };
      const resources = [{ ...repository, authorization_token: t.unique("canary") }];
      const made = await deploymentWith(t, { resources });
      assertHas(made, { resources: [repository] });
      assert.ok(!JSON.stringify(made).includes("canary"));
      const tooMany = many(501, () => resources[0]);
      await noDeploymentWith(t, { resources: tooMany }, /resources/);
    },
  ),

  scenario(
    "a schedule is five fields of cron in a timezone",
    {
      verifies: [
        "deployments.schedule",
        "deployments.schedule.fields",
        "deployments.schedule.sunday",
        "deployments.schedule.timezone",
        "deployments.schedule.wall-clock",
      ],
      rows: [95, 97],
      deferred,
    },
    async (t) => {
      const upcoming = async (expression: string, timezone?: string) => {
        const sent = cron(expression, timezone);
        const { schedule } = await deploymentWith(t, sent);
        assertHas(schedule, sent.schedule);
        assert.equal(schedule?.last_run_at ?? null, null);
        const times = schedule?.upcoming_runs_at ?? [];
        assert.ok(times.length >= 1 && times.length <= 5);
        assert.deepEqual(times, times.toSorted());
        for (const time of times) assert.ok(Date.parse(time) > Date.now());
        return times.map((time) => new Date(time));
      };
      for (const time of await upcoming("30 9 * * 1-5")) {
        assert.deepEqual([time.getUTCHours(), time.getUTCMinutes()], [9, 30]);
        assert.ok(![0, 6].includes(time.getUTCDay()));
      }
      const sundays = [await upcoming("0 0 * * 0"), await upcoming("0 0 * * 7")];
      assert.deepEqual(sundays[0], sundays[1]);
      // The first of each month, on both sides of the change of clocks.
      const zone = "America/New_York";
      for (const time of await upcoming("0 9 1 * *", zone)) {
        const options = { timeZone: zone, hour: "numeric", hourCycle: "h23" } as const;
        assert.equal(new Intl.DateTimeFormat("en", options).format(time), "09");
      }
      for (const bad of [
        ...["* * * *", "0 * * * * *", "0 0 * * * 2030", "@daily", "0 0 L * *", "0 0 15W * *"],
        ...["0 0 * * 1#2", "0 0 ? * *", "60 * * * *", "* 24 * * *", "* * * * 8", ""],
      ]) {
        await noDeploymentWith(t, cron(bad), /schedule/);
      }
      await noDeploymentWith(t, cron("0 0 * * *", "Mars/Olympus"), /timezone/);
      const schedule = { type: "cron", expression: "0 0 * * *" };
      await noDeploymentWith(t, { schedule }, /timezone/);
    },
  ),

  scenario(
    "deployments that there are not are not found",
    { verifies: ["deployments.retrieve.unknown"], rows, deferred },
    async (t) => {
      const { deployments: api } = t.client.beta;
      const missing = { status: 404, type: "not_found_error" };
      const id = "depl_of_nobody";
      await refused(api.retrieve(id), missing);
      await refused(api.update(id, {}), missing);
      await refused(api.run(id), missing);
      await refused(api.pause(id), missing);
      await refused(api.unpause(id), missing);
      await refused(api.archive(id), missing);
    },
  ),
];
