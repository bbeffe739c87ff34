import { answer, type Script, text, toolCall, toolResultsOf } from "@drover/testing";
import { expect, onTestFinished, test } from "vitest";
import { StoreUnavailableError } from "../core/errors.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { MemoryTool } from "../hands/fake/memory-hands.ts";
import { Wakeup } from "../lib/wakeup.ts";
import { type BrainWorld, createBrainWorld } from "../testing/brain.ts";
import { brokenLogRules } from "../testing/log-rules.ts";
import type { DriveDeps } from "./deps.ts";
import { SessionOutputs } from "./outputs.ts";

const file = (path: string, text: string) => ({
  path,
  sha256: Buffer.from(text).toString("hex").padEnd(64, "0"),
  size_bytes: text.length,
});

/** One call whose tool leaves a draft, waits until the user can have it, and replaces it. */
const ONE_CALL: Script = (request) =>
  toolResultsOf(request).size > 0
    ? answer(text("Done."))
    : answer(toolCall("bash", { command: "report" }));

const report: (world: () => BrainWorld) => MemoryTool = (world) => async (call, signal, leave) => {
  leave(file("draft", "1"));
  const bell = new Wakeup();
  signal.addEventListener("abort", () => bell.notify(), { once: true });
  const off = world().announcements.subscribe(call.sessionId, () => bell.notify());
  while (!signal.aborted && (await filesOf(world(), call)).length === 0) await bell.wait();
  off();
  leave(file("draft", "12"));
  leave(file("final", "123"));
  return "reported";
};

const BOTH = ["draft: 2", "final: 3"];

test("outputs of a running call are files of its session before it ends, and the newest in the end", async () => {
  const { brain, key } = await open();
  const mortal = await brain.run();
  expect(await filesOf(brain, key)).toEqual(BOTH);
  expect(mortal.trace).toContain("after settle outputs");
});

test("killed after any step from the sending of a call on, each output is there once, as it was last", async () => {
  const trace = await traceOf();
  const sent = trace.indexOf("before execute");
  // The moments that matter: it is done in the world, and nobody knows. Before it is like after the last.
  const steps = trace.flatMap((name, index) =>
    index > sent && name.startsWith("after") ? [index] : [],
  );
  expect(steps.length).toBeGreaterThan(4);
  for (const killAt of steps) {
    const { brain, key } = await open();
    await brain.run(killAt + 1);
    await untilIdle(brain, key);
    expect(await filesOf(brain, key), `killed ${trace[killAt]}`).toEqual(BOTH);
    expect(brokenLogRules(await brain.log(key))).toEqual([]);
    expect(brain.hands.executions).toHaveLength(1);
  }
});

test("killed with the hands, what had been left comes with the lost call's answer", async () => {
  const trace = await traceOf();
  const calls = trace.flatMap((name, index) =>
    /execute|settle outputs/.test(name) ? [index] : [],
  );
  expect(calls.length).toBeGreaterThan(4);
  for (const index of calls) {
    const { brain, key } = await open();
    await brain.run(index + 1);
    const isLeft = brain.hands.executions.length > 0;
    brain.hands.kill();
    await untilIdle(brain, key);
    const files = await filesOf(brain, key);
    expect(files.length, `killed ${trace[index]}`).toBeGreaterThanOrEqual(isLeft ? 1 : 0);
    expect(new Set(files).size).toBe(files.length);
  }
});

test("a late word of what was replaced is not recorded, by this driver or by one before it", async () => {
  const { brain, key } = await open();
  await brain.run();
  const [claim] = await brain.store.write(async (tx) => {
    await tx.queue.wake(key);
    return await tx.queue.claim({ holder: "later", leaseMs: null, limit: 1 });
  });
  const session = await brain.store.sessions.find(key);
  if (claim === undefined || session === undefined) throw new Error("the session is not there");
  const at = (content: string, found: number) => ({ ...file("draft", content), found });
  const outputs = new SessionOutputs(claim, brain.deps);
  expect(await outputs.take(session, [at("newer", 8)])).toBe(true);
  expect(await outputs.take(session, [at("old", 7)])).toBe(true);
  const thawed = new SessionOutputs({ ...claim, epoch: claim.epoch - 1 }, brain.deps);
  expect(await thawed.take(session, [at("frozen!", 9)])).toBe(false);
  expect(await filesOf(brain, key)).toEqual(["draft: 5", "final: 3"]);
});

test("what the store refuses is asked for again", async () => {
  let refusals = 2;
  const { brain, key } = await open();
  const write: DriveDeps["store"]["write"] = (work) =>
    brain.store.write(async (tx) => {
      const isOutputs = brain.hands.executions.length > 0 && refusals > 0;
      if (isOutputs) refusals -= 1;
      if (isOutputs) throw new StoreUnavailableError("the disk is full");
      return await work(tx);
    });
  const store = Object.create(brain.store, { write: { value: write } });
  await brain.run(0, { ...brain.deps, store });
  expect([refusals, await filesOf(brain, key)]).toEqual([0, BOTH]);
});

async function open(): Promise<{ brain: BrainWorld; key: SessionKey }> {
  const made: { brain?: BrainWorld } = {};
  const world = () => {
    if (made.brain === undefined) throw new Error("the world is being made");
    return made.brain;
  };
  const brain = await createBrainWorld({ script: ONE_CALL, tools: { bash: report(world) } });
  made.brain = brain;
  onTestFinished(() => brain[Symbol.asyncDispose]());
  const key = await brain.newSession();
  await brain.send(key, "Report.");
  return { brain, key };
}

/** The steps of a process that does not die, by name. */
async function traceOf(): Promise<readonly string[]> {
  const { brain } = await open();
  return (await brain.run()).trace;
}

async function untilIdle(brain: BrainWorld, key: SessionKey): Promise<void> {
  for (let runs = 0; runs < 5; runs += 1) {
    await brain.run();
    if ((await brain.log(key)).at(-1)?.type === "session.status_idle") return;
  }
  throw new Error("the session does not become idle");
}

async function filesOf({ store }: BrainWorld, { workspaceId, sessionId }: SessionKey) {
  const page = { limit: 100, order: "asc" as const };
  const files = await store.files.list(workspaceId, { sessionId }, page);
  return files.map(({ output_path, size_bytes }) => `${output_path}: ${size_bytes}`).toSorted();
}
