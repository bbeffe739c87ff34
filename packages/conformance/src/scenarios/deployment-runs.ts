import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { cron, type Deployment, deploymentWith, NO_DEPLOYMENTS } from "../support/deployments.ts";
import { all, assertHas, assertTime, refused } from "../support/expect.ts";
import { newEnvironment } from "../support/fixtures.ts";
import { historyOf, message } from "../support/turns.ts";
import type { Target } from "../target.ts";

const deferred = NO_DEPLOYMENTS;
const EVERY_MINUTE = "* * * * *";
/** A minute and the jitter of one that fires each minute. */
const FIRES_MS = 90_000;
const LOOK_MS = 1_000;

/** What comes of a deployment: runs by hand, by schedule, and their list. */
export const deploymentRuns: readonly Scenario[] = [
  scenario(
    "a run by hand makes a session of the deployment",
    {
      verifies: [
        "deployments.run",
        "deployments.run.session",
        "deployments.run.last",
        "runs.retrieve",
      ],
      rows: [96],
      deferred,
    },
    async (t) => {
      const { beta } = t.client;
      const initial_events = [message("from the deployment")];
      const made = await deploymentWith(t, { initial_events, ...cron("0 0 1 1 *") });
      const run = await beta.deployments.run(made.id);
      assertTime(run.created_at);
      assertHas(run, {
        ...{ type: "deployment_run", deployment_id: made.id, agent: made.agent, error: null },
        trigger_context: { type: "manual" },
      });
      assert.ok(run.session_id !== null);
      const session = await beta.sessions.retrieve(run.session_id);
      assertHas(session, { deployment_id: made.id, environment_id: made.environment_id });
      assertHas(session.agent, { id: made.agent.id, version: made.agent.version });
      const history = await historyOf(t, session.id);
      assertHas(
        history.find(({ type }) => type === "user.message"),
        { content: initial_events[0]?.content ?? [] },
      );
      const { schedule } = await beta.deployments.retrieve(made.id);
      assert.equal(schedule?.last_run_at ?? null, null);
      assert.deepEqual(await beta.deploymentRuns.retrieve(run.id), run);
    },
  ),

  scenario(
    "a paused deployment is run by hand, and stays paused",
    { verifies: ["deployments.run.paused"], rows: [96, 98], deferred },
    async (t) => {
      const { deployments: api } = t.client.beta;
      const made = await deploymentWith(t);
      await api.pause(made.id);
      const run = await api.run(made.id);
      assert.ok(run.session_id !== null);
      assertHas(await api.retrieve(made.id), { status: "paused" });
    },
  ),

  scenario(
    "a run by hand that fails says why, and pauses nothing",
    {
      verifies: ["deployments.run.failed", "deployments.run.failed-manual"],
      rows: [96],
      deferred,
    },
    async (t) => {
      const { deployments: api } = t.client.beta;
      const made = await unusable(t);
      const run = await api.run(made.id);
      assertHas(run, { session_id: null, error: { type: "environment_archived_error" } });
      assert.ok((run.error?.message ?? "").length > 0);
      assertHas(await api.retrieve(made.id), { status: "active", paused_reason: null });
    },
  ),

  scenario(
    "a schedule fires once for each of its times",
    {
      verifies: ["deployments.fires", "deployments.fires.last"],
      rows: [97],
      deferred,
      patienceMs: FIRES_MS + 30_000,
    },
    async (t) => {
      const made = await deploymentWith(t, cron(EVERY_MINUTE));
      const [first = ""] = made.schedule?.upcoming_runs_at ?? [];
      const [run] = await firedRuns(t, made);
      assert.ok(run?.trigger_context.type === "schedule");
      assert.equal(Date.parse(run.trigger_context.scheduled_at), Date.parse(first));
      assert.ok(run.session_id !== null && run.error === null);
      const { schedule } = await t.client.beta.deployments.retrieve(made.id);
      assertTime(schedule?.last_run_at);
      assert.ok(Date.parse(schedule.last_run_at) >= Date.parse(first));
      const runs = await firedRuns(t, made);
      const times = runs.map(({ trigger_context: each }) =>
        each.type === "schedule" ? each.scheduled_at : "",
      );
      assert.equal(new Set(times).size, times.length);
      await t.client.beta.deployments.archive(made.id);
    },
  ),

  scenario(
    "a scheduled run that fails pauses the deployment with its error",
    {
      verifies: ["deployments.fires.failed"],
      rows: [98],
      deferred,
      patienceMs: FIRES_MS + 30_000,
    },
    async (t) => {
      const made = await unusable(t, cron(EVERY_MINUTE));
      const [run] = await firedRuns(t, made);
      const type = "environment_archived_error";
      assertHas(run, { session_id: null, error: { type } });
      assertHas(await t.client.beta.deployments.retrieve(made.id), {
        status: "paused",
        paused_reason: { type: "error", error: { type } },
      });
    },
  ),

  scenario(
    "runs are listed by deployment, trigger and whether they failed",
    {
      verifies: [
        "runs.list",
        "runs.list.unknown",
        "runs.list.created",
        "runs.list.paged",
        "runs.retrieve.unknown",
      ],
      rows: [100],
      deferred,
    },
    async (t) => {
      const { deploymentRuns: api, deployments: deploymentsApi } = t.client.beta;
      const [good, bad] = [await deploymentWith(t), await unusable(t)];
      for (const { id } of [good, good, good, bad]) await deploymentsApi.run(id);
      const count = async (params: object) => (await all(api.list({ limit: 2, ...params }))).length;
      const ofGood = { deployment_id: good.id };
      const ofBad = { deployment_id: bad.id };
      assert.deepEqual(await Promise.all([count(ofGood), count(ofBad)]), [3, 1]);
      assert.equal(await count({ ...ofGood, has_error: true }), 0);
      assert.equal(await count({ ...ofGood, has_error: false }), 3);
      assert.equal(await count({ ...ofBad, has_error: true }), 1);
      assert.equal(await count({ ...ofGood, trigger_type: "manual" }), 3);
      assert.equal(await count({ ...ofGood, trigger_type: "schedule" }), 0);
      const runs = await all(api.list(ofGood));
      assert.equal(new Set(runs.map(({ id }) => id)).size, 3);
      const last = runs.map(({ created_at }) => created_at).toSorted()[2] ?? "";
      assert.equal(await count({ ...ofGood, "created_at[gt]": last }), 0);
      assert.ok((await count({ ...ofGood, "created_at[gte]": last })) >= 1);
      assert.deepEqual(await all(api.list({ deployment_id: "depl_of_nobody" })), []);
      await refused(api.retrieve("drun_of_nobody"), { status: 404, type: "not_found_error" });
    },
  ),
];

/** A deployment whose environment was archived, so that none of its sessions can be made. */
async function unusable(t: Target, fields: object = {}): Promise<Deployment> {
  const { id: environment_id } = await newEnvironment(t);
  const made = await deploymentWith(t, { environment_id, ...fields });
  await t.client.beta.environments.archive(environment_id);
  return made;
}

/** The runs that the schedule has started, when there is one. */
async function firedRuns(t: Target, { id }: Deployment) {
  const deadline = Date.now() + FIRES_MS;
  const { deploymentRuns: api } = t.client.beta;
  for (;;) {
    const runs = await all(api.list({ deployment_id: id, trigger_type: "schedule" }));
    if (runs.length > 0 || Date.now() > deadline) return runs;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
