import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { newEnvironment, newSession } from "../support/fixtures.ts";
import type { Target } from "../target.ts";

/** One scenario a row, up to the first thing that only a work queue can give: once it does, the suite is
 * red, and the rest is to be written. */
const ROWS: readonly [requirement: string, row: number, name: string][] = [
  ["self-hosted.enqueue", 78, "a session becomes work with a secret"],
  ["self-hosted.ack", 79, "acknowledged work leaves the queue"],
  ["self-hosted.heartbeat", 80, "a heartbeat claims work once"],
  ["self-hosted.stop", 81, "work is stopped, gracefully or not"],
  ["self-hosted.credentials", 82, "each credential opens what it is for"],
  ["self-hosted.worker.run", 83, "the official worker runs a turn"],
  ["self-hosted.worker.single", 84, "one item is handled by its secret alone"],
  ["self-hosted.poller", 85, "the poller stops what it has handed out"],
  ["self-hosted.worker.idle", 86, "a worker ends after its idle time"],
  ["self-hosted.requeue", 87, "a later message is new work"],
  ["self-hosted.lapse", 88, "work of a dead worker is had by another"],
  ["self-hosted.split", 89, "worker and app share a session's tools"],
  ["self-hosted.gate", 90, "a call that asks is held by the runner"],
  ["self-hosted.skills", 91, "a worker has the agent's skills"],
  ["self-hosted.memory", 92, "a worker has the session's memory"],
  ["self-hosted.terminated", 93, "work of an ended session is stopped"],
  ["self-hosted.interrupted", 94, "an interrupted call is not run by the next worker"],
];

const deferred = "the work queue is not built";

export const selfHosted: readonly Scenario[] = [
  scenario(
    "a poll of an empty queue answers nothing",
    { verifies: ["self-hosted.poll.empty"], rows: [77], deferred },
    async (t) => {
      const { id } = await newEnvironment(t, { config: { type: "self_hosted" } });
      assert.equal(await t.client.beta.environments.work.poll(id, { block_ms: 1 }), null);
    },
  ),
  ...ROWS.map(([requirement, row, name]) =>
    scenario(name, { verifies: [requirement], rows: [row], deferred }, async (t) => {
      const work = await nextWork(t);
      assert.deepEqual([work.type, work.state], ["work", "queued"]);
    }),
  ),
];

async function nextWork(t: Target) {
  const { id } = await newEnvironment(t, { config: { type: "self_hosted" } });
  await newSession(t, { environment_id: id });
  const work = await t.client.beta.environments.work.poll(id, { block_ms: 999 });
  assert.ok(work, "no work for a session in a self-hosted environment");
  return work;
}
