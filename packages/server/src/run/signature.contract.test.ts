import { describe, expect, test } from "vitest";
import { BARE_POLICIES, DEFAULT_POLICIES, type Policies } from "../core/harness/policies.ts";
import type { MemoryToolAnswer } from "../hands/fake/memory-hands.ts";
import { type BrainWorld, createBrainWorld, TWO_TOOLS } from "../testing/brain.ts";
import { brokenLogRules, comparableLog } from "../testing/log-rules.ts";

const world = (policies: Policies) =>
  createBrainWorld({
    script: TWO_TOOLS,
    policies,
    tools: { read: () => "content of a", write: () => WROTE },
  });

/** Over the network, as far as the log can tell. */
const WROTE = {
  content: [{ type: "text", text: "wrote 1 bytes to b" }],
  egress: [
    {
      host: "api.test",
      port: 443,
      verdict: "allowed",
      reason: null,
      connections: 1,
      bytes_up: 10,
      bytes_down: 20,
      ms: 3,
    },
  ],
} satisfies MemoryToolAnswer;

/** Runs the scenario once without dying, for its log and the number of steps at which one can die. */
async function undisturbed(policies: Policies) {
  await using brain = await world(policies);
  const key = await brain.newSession();
  await brain.send(key, "Read a and write b.");
  const mortal = await brain.run();
  return { log: await brain.log(key), steps: mortal.trace };
}

async function settled(brain: BrainWorld): Promise<void> {
  // One process after another until one finds nothing to do: each claims, drives and ends.
  for (let processes = 0; processes < 5; processes++) {
    const { trace } = await brain.run();
    if (trace.length === 2) return;
  }
  throw new Error("the session does not come to rest");
}

describe.each([
  { kind: "with every workaround", policies: DEFAULT_POLICIES },
  { kind: "without any workaround", policies: BARE_POLICIES },
])("the signature, $kind: one process dies, another goes on", async ({ policies }) => {
  const reference = await undisturbed(policies);
  const steps = reference.steps.map((name, index) => ({ name, killAt: index + 1 }));

  test("the undisturbed log is the one of the design", () => {
    expect(reference.log.map((event) => event.type)).toEqual([
      "session.status_running",
      "session.thread_status_running",
      "user.message",
      "span.model_request_start",
      "agent.thinking",
      "agent.message",
      "agent.tool_use",
      "agent.tool_use",
      "span.model_request_end",
      "drover.call_started",
      "drover.call_started",
      "agent.tool_result",
      "agent.tool_result",
      "drover.egress",
      "span.model_request_start",
      "agent.message",
      "span.model_request_end",
      "session.thread_status_idle",
      "session.usage",
      "session.status_idle",
    ]);
    expect(steps.length).toBeGreaterThan(20);
  });

  test.each(steps)("killed $name (step $killAt), the log is the same", async ({ killAt }) => {
    await using brain = await world(policies);
    const key = await brain.newSession();
    await brain.send(key, "Read a and write b.");
    await brain.run(killAt);
    await settled(brain);
    const log = await brain.log(key);
    expect(brokenLogRules(log)).toEqual([]);
    expect(comparableLog(log)).toEqual(comparableLog(reference.log));
    const runs = brain.hands.executions.map(({ callId }) => callId);
    expect(new Set(runs).size).toBe(runs.length);
    expect(runs).toHaveLength(2);
  });

  const duringRequest = steps.filter(({ name }) => name.endsWith("model"));
  test.each(duringRequest)(
    "a request that died $name is closed as lost and asked again",
    async ({ killAt }) => {
      await using brain = await world(policies);
      const key = await brain.newSession();
      await brain.send(key, "Read a and write b.");
      await brain.run(killAt);
      await settled(brain);
      const outcomes = (await brain.log(key)).flatMap((event) =>
        event.type === "span.model_request_end" ? [event.private.outcome] : [],
      );
      expect(outcomes.filter((outcome) => outcome === "lost")).toHaveLength(1);
      expect(outcomes.filter((outcome) => outcome === "response")).toHaveLength(2);
    },
  );

  test.each(steps)(
    "killed $name (step $killAt) together with the hands, each call has one answer and runs at most once",
    async ({ killAt }) => {
      await using brain = await world(policies);
      const key = await brain.newSession();
      await brain.send(key, "Read a and write b.");
      await brain.run(killAt);
      brain.hands.kill();
      await settled(brain);
      expect(brokenLogRules(await brain.log(key))).toEqual([]);
      const runs = brain.hands.executions.map(({ callId }) => callId);
      expect(new Set(runs).size).toBe(runs.length);
    },
  );
});
