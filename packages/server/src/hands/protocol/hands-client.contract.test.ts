import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { CallOutcome, HandCall } from "../../core/ports/hands.ts";
import { FAIL_POINTS, type FailPointPlan } from "../../lib/fail-point.ts";
import { systemClock } from "../../lib/system-clock.ts";
import { handsSpawner } from "../../serve/spawn-hands.ts";
import { makeCall } from "../fake/make-call.ts";
import type { MarkingHandsOptions } from "../fake/marking-hands-main.ts";
import { type MarkingWorld, markingHandsArgs, openMarkingWorld } from "../fake/marking-world.ts";
import { LocalHands } from "./hands-client.ts";
import { readHandsFile, writeHandsFile } from "./hands-file.ts";
import { HandsFinder } from "./hands-finder.ts";

// The contract itself is run on real sandboxes, by `hands.contract.test.ts`; here is what is beyond it.

test("starts nothing until a call needs it, and then one process for all who ask", async () => {
  await using world = await openMarkingWorld(spawner());
  expect(await world.pid()).toBeUndefined();
  const boots = await Promise.all(
    ["hand_1", "hand_2", "hand_3"].map((handId) => world.hands.locate(handId, never())),
  );
  expect(new Set(boots.map(({ hands_boot }) => hands_boot)).size).toBe(1);
});

test("those who look for hands at once have one connection, which none of them cuts", async () => {
  await using world = await openMarkingWorld(spawner());
  await world.hands.locate("hand_1", never());
  const { dataDir } = world;
  const start = () => Promise.reject(new Error("they run"));
  const finder = new HandsFinder({ dataDir, start, clock: systemClock, startDeadlineMs: 1_000 });
  onTestFinished(() => finder.close());
  const looks = [finder.findRunning(), finder.find(), finder.findRunning()];
  const [first, ...others] = await Promise.all(looks);
  expect(others).toEqual([first, first]);
  expect(others.every((other) => other === first)).toBe(true);
  const waiting = first?.send({ method: "GET", path: "/v1/questions?wait_ms=300" }, never());
  await Promise.all([finder.findRunning(), finder.find()]);
  expect(await waiting).toMatchObject({ status: 200, body: { questions: [] } });
});

test("starts nothing to cancel or settle", async () => {
  await using world = await openMarkingWorld(spawner());
  await world.hands.cancel(makeCall());
  await world.hands.settle(makeCall());
  expect(await world.pid()).toBeUndefined();
});

test("goes on with a call whose brain was killed with its whole process group", async () => {
  await using world = await openMarkingWorld(spawner());
  const { hands_boot } = await world.hands.locate("hand_1", never());
  const call = makeCall({ handsBoot: hands_boot, ...world.call("lasting", { waits: true }) });
  await world.killBoot();
  const brain = startBrain(world.dataDir, call);
  await expect.poll(() => world.runs("hand_1", "lasting"), { timeout: 20_000 }).toBe(1);
  process.kill(-(brain.pid ?? 0), "SIGKILL");
  await once(brain, "exit");
  const boot = await world.hands.locate("hand_1", never());
  const again = world.hands.execute({ ...call, ...within(boot), epoch: 2 }, never());
  await world.release("hand_1", "lasting");
  expect(await again).toMatchObject({ type: "result", is_error: false });
  expect(await world.runs("hand_1", "lasting")).toBe(1);
});

test("a call of another machine is not said to be over while it runs there", async () => {
  await using there = await openMarkingWorld(spawner());
  await using here = await openMarkingWorld(spawner());
  const call = await begin(there, "elsewhere");
  const later = { ...call, epoch: 2 };
  const expected = { type: "out_of_reach", message: expect.stringMatching(/may still run there/) };
  expect(await here.hands.execute(later, never())).toEqual(expected);
  await here.hands.cancel(later);
  await here.hands.settle(later);
  expect(await here.runs("hand_1", "elsewhere")).toBe(0);
  await there.release("hand_1", "elsewhere");
  expect(await there.hands.execute(call, never())).toMatchObject({ type: "result" });
  // Not so on the machine itself, whose hands prove that the earlier ones' doings are over.
  await there.killBoot();
  await there.hands.locate("hand_1", never());
  expect(await there.hands.execute(call, never())).toMatchObject({ type: "lost" });
  expect(await here.hands.execute(later, never())).toEqual(expected);
});

test("ends a call at its ceiling though no brain is alive", async () => {
  await using world = await openMarkingWorld(spawner({ times: { callMs: 200 } }));
  const call = await begin(world, "endless");
  expect(await world.hands.execute(call, never())).toMatchObject({ is_error: true });
});

test("refuses hands that let sandboxes reach something else, until those are ended", async () => {
  await using world = await openMarkingWorld(spawner());
  await world.hands.locate("hand_1", never());
  const { dataDir } = world;
  await using stack = new AsyncDisposableStack();
  const brain = stack.adopt(
    new LocalHands({ dataDir, start: spawner()(dataDir), clock: systemClock, network: "[]" }),
    (hands) => hands.close(),
  );
  await expect(brain.locate("hand_1", never())).rejects.toThrow(
    /other settings.*drover stop --hands/,
  );
  const file = await readHandsFile(dataDir);
  if (file === undefined) throw new Error("no hands");
  await writeHandsFile(dataDir, { ...file, network: "[]" });
  expect(await brain.locate("hand_1", never())).toMatchObject({ hands_boot: file.boot });
});

test("says what hands said that could not start", async () => {
  const start = (dataDir: string) =>
    handsSpawner({
      dataDir,
      command: process.execPath,
      args: ["-e", "console.error('bwrap is not installed'); process.exit(3)"],
      env: {},
    });
  await using world = await openMarkingWorld(start);
  const expected =
    /No hands can be had: they ended at once \(exit code 3\).*\nbwrap is not installed/;
  await expect(world.hands.locate("hand_1", never())).rejects.toThrow(expected);
  const outcome = await world.hands.execute(makeCall(), never());
  expect(outcome).toEqual({ type: "unavailable", message: expect.stringMatching(expected) });
  expect(await world.hands.dispose("hand_1")).toBe(false);
});

test("says nothing of what earlier hands said", async () => {
  const start = (dataDir: string) =>
    handsSpawner({ dataDir, command: process.execPath, args: ["-e", "process.exit(3)"], env: {} });
  await using world = await openMarkingWorld(start);
  await writeFile(join(world.dataDir, "hands.log"), "of another session\n");
  await expect(world.hands.locate("hand_1", never())).rejects.toThrow(
    /exit code 3\), without a word/,
  );
});

test("starts hands again that were killed while they started", async () => {
  const script = (dataDir: string) => `
    import { existsSync, writeFileSync } from "node:fs";
    const died = ${JSON.stringify(join(dataDir, "died"))};
    if (!existsSync(died)) {
      writeFileSync(died, "");
      process.kill(process.pid, "SIGKILL");
    }
    process.argv.push(...${JSON.stringify(markingHandsArgs({ dataDir }).slice(-2))});
    await import(${JSON.stringify(join(import.meta.dirname, "../fake/marking-hands-main.ts"))});
  `;
  const start = (dataDir: string) => {
    const args = ["--conditions=drover-source", "--input-type=module", "-e", script(dataDir)];
    return handsSpawner({ dataDir, command: process.execPath, args, env: {} });
  };
  await using world = await openMarkingWorld(start);
  expect(await world.hands.locate("hand_1", never())).toMatchObject({ hand_id: "hand_1" });
});

test("says that a program that is not there cannot be run", async () => {
  const start = (dataDir: string) =>
    handsSpawner({ dataDir, command: "/nowhere/node", args: [], env: {} });
  await using world = await openMarkingWorld(start);
  await expect(world.hands.locate("hand_1", never())).rejects.toThrow(
    "/nowhere/node could not be run",
  );
});

test("finds no hands before they proved that nothing of an earlier boot is left", async () => {
  const start = spawner({ reapUntil: "proved" });
  await using world = await openMarkingWorld(start, { startDeadlineMs: 500 });
  await expect(world.hands.locate("hand_1", never())).rejects.toThrow("not ready yet");
  expect(await world.pid()).toBeUndefined();
  await writeFile(join(world.dataDir, "proved"), "");
  await expect.poll(() => world.pid(), { timeout: 20_000 }).toBeDefined();
  await expect
    .poll(() => world.hands.locate("hand_1", never()).catch(() => "none"))
    .toEqual({
      hand_id: "hand_1",
      hands_boot: expect.any(String),
      installation_id: expect.any(String),
    });
});

test("runs a call twice when the hands forget calls, so that the suite would notice", async () => {
  await using world = await openMarkingWorld(spawner({ unsafeForgetCalls: true }));
  await executeTwice(world);
  expect(await world.runs("hand_1", "twice")).toBe(2);
});

test("runs a call twice when the brain forgets that it sent it, so that the suite would notice", async () => {
  await using world = await openMarkingWorld(spawner(), { unsafeForgetSentCalls: true });
  await executeTwice(world);
  expect(await world.runs("hand_1", "twice")).toBe(2);
});

const CALL_PATH = FAIL_POINTS.filter((name) => /^hands\.(call|reply|settle)\./.test(name));

test.each(CALL_PATH)("runs no call twice when the hands die at %s", async (name) => {
  // The first answer of all is the one to the search for hands.
  await using world = await openMarkingWorld(
    dyingOnce({ name, nth: name.startsWith("hands.reply.") ? 2 : 1 }),
  );
  const { hands_boot } = await world.hands.locate("hand_1", never());
  const call = makeCall({ handsBoot: hands_boot, ...world.call("fragile") });
  const first = await world.hands.execute(call, never());
  await world.hands.settle(call);
  const second = await world.hands.execute({ ...call, epoch: 2 }, never());
  const runs = await world.runs("hand_1", "fragile");
  expect(runs).toBeLessThanOrEqual(1);
  expect(["result", "lost"]).toContain(first.type);
  if (first.type === "result") expect(runs).toBe(1);
  expect(["lost", "refused"]).toContain(second.type);
});

const START = FAIL_POINTS.filter((name) => name.startsWith("hands.start."));

test.each(START)("has other hands when the first die at %s", async (name) => {
  await using world = await openMarkingWorld(dyingOnce({ name, nth: 1 }));
  await world.hands.locate("hand_1", never()).catch((error) => {
    expect(error).toMatchObject({ name: "HandsUnavailableError" });
  });
  const located = () => world.hands.locate("hand_1", never()).catch(() => "none");
  await expect.poll(located, { timeout: 20_000 }).toMatchObject({ hand_id: "hand_1" });
});

const CANCELLING = FAIL_POINTS.filter((name) => name.startsWith("hands.cancel."));

test.each(CANCELLING)("says a call is lost when the hands die at %s", async (name) => {
  await using world = await openMarkingWorld(dyingOnce({ name, nth: 1 }));
  const call = await begin(world, "endless");
  await world.hands.cancel(call);
  expect(await world.hands.execute(call, never())).toMatchObject({ type: "lost" });
  expect(await world.runs("hand_1", "endless")).toBe(1);
});

const DISPOSING = FAIL_POINTS.filter((name) => name.startsWith("hands.dispose."));

test.each(DISPOSING)("asks to be told again when the hands die at %s", async (name) => {
  await using world = await openMarkingWorld(dyingOnce({ name, nth: 1 }));
  await world.hands.locate("hand_1", never());
  expect(await world.hands.dispose("hand_1")).toBe(false);
  expect(await world.hands.dispose("hand_1")).toBe(true);
});

/** Only the first boot dies: the point may be one that every boot passes. */
function dyingOnce(plan: FailPointPlan) {
  let failPoint: FailPointPlan | undefined = plan;
  return (dataDir: string) => async (signal: AbortSignal) => {
    const options = failPoint ? { dataDir, failPoint } : { dataDir };
    failPoint = undefined;
    await handsSpawner(command(options))(signal);
  };
}

function spawner(options: Omit<MarkingHandsOptions, "dataDir"> = {}) {
  return (dataDir: string) => handsSpawner(command({ dataDir, ...options }));
}

function command(options: MarkingHandsOptions) {
  const { dataDir } = options;
  return { dataDir, command: process.execPath, args: markingHandsArgs(options), env: {} };
}

/** Sends a call that waits, and does not wait for it. */
async function begin(world: MarkingWorld, mark: string): Promise<HandCall> {
  const { hands_boot } = await world.hands.locate("hand_1", never());
  const call = makeCall({ handsBoot: hands_boot, ...world.call(mark, { waits: true }) });
  const patience = new AbortController();
  const abandoned = world.hands.execute(call, patience.signal);
  await expect.poll(() => world.runs("hand_1", mark), { timeout: 20_000 }).toBe(1);
  patience.abort();
  await abandoned;
  return call;
}

async function executeTwice(world: MarkingWorld): Promise<CallOutcome[]> {
  const { hands_boot } = await world.hands.locate("hand_1", never());
  const call = makeCall({ handsBoot: hands_boot, ...world.call("twice") });
  return [await world.hands.execute(call, never()), await world.hands.execute(call, never())];
}

/** A process that starts hands, sends the call to them and waits. */
function startBrain(dataDir: string, call: HandCall): ChildProcess {
  const source = join(import.meta.dirname, "../..");
  const script = `
    import { LocalHands } from ${JSON.stringify(join(source, "hands/protocol/hands-client.ts"))};
    import { handsSpawner } from ${JSON.stringify(join(source, "serve/spawn-hands.ts"))};
    import { systemClock } from ${JSON.stringify(join(source, "lib/system-clock.ts"))};
    const start = handsSpawner(${JSON.stringify(command({ dataDir }))});
    const hands = new LocalHands({ dataDir: ${JSON.stringify(dataDir)}, start, clock: systemClock });
    const signal = new AbortController().signal;
    const { hands_boot } = await hands.locate("hand_1", signal);
    await hands.execute({ ...${JSON.stringify(call)}, handsBoot: hands_boot }, signal);
  `;
  const args = ["--conditions=drover-source", "--input-type=module", "-e", script];
  const brain = spawn(process.execPath, args, {
    detached: true,
    stdio: ["ignore", "inherit", "inherit"],
  });
  onTestFinished(() => {
    if (brain.exitCode === null && brain.signalCode === null) brain.kill("SIGKILL");
  });
  return brain;
}

function within({ hands_boot }: { hands_boot: string }): { handsBoot: string } {
  return { handsBoot: hands_boot };
}

function never(): AbortSignal {
  return new AbortController().signal;
}
