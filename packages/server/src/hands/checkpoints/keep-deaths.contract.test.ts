import { existsSync, readdirSync } from "node:fs";
import { mkdtemp, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { CallOutcome, HandFiles } from "../../core/ports/hands.ts";
import type { FailPoint, FailPointPlan } from "../../lib/fail-point.ts";
import { systemClock } from "../../lib/system-clock.ts";
import { handsSpawner } from "../../serve/spawn-hands.ts";
import { makeCall } from "../fake/make-call.ts";
import { killHands } from "../fake/marking-world.ts";
import type { TestHandsOptions } from "../fake/run-test-hands.ts";
import { LocalHands } from "../protocol/hands-client.ts";
import { processStart, readHandsFile } from "../protocol/hands-file.ts";
import { removeFolder } from "../sandbox/local/remove-folder.ts";

/** Hands with real sandboxes, killed while they keep files, let go of them and get them back. */

const NEVER = new AbortController().signal;
const BEGUN: HandFiles = { line: 1, is_ahead: false };
const PROGRAM = join(import.meta.dirname, "../../testing/bubblewrap-hands-main.ts");

/**
 * A data folder whose first hands die at the point. They and the next ones are quick to keep what is idle, and let it
 * go as soon as it is kept, unless told otherwise.
 */
async function open(name: FailPoint, { nth = 1, cacheBytesMax = 0 } = {}) {
  const dataDir = await mkdtemp(join(tmpdir(), "drover-deaths-"));
  let failPoint: FailPointPlan | undefined = { name, nth };
  const start = async (signal: AbortSignal) => {
    const options: TestHandsOptions = {
      ...{ dataDir, keeping: { cacheBytesMax }, times: { sandboxIdleMs: 50, lookMs: 20 } },
      ...(failPoint !== undefined && { failPoint }),
    };
    failPoint = undefined;
    const args = ["--conditions=drover-source", PROGRAM, JSON.stringify(options)];
    const env = { PATH: "/usr/bin:/bin" };
    await handsSpawner({ dataDir, command: process.execPath, args, env })(signal);
  };
  const hands = new LocalHands({ dataDir, start, clock: systemClock });
  onTestFinished(async () => {
    hands.close();
    await killHands(dataDir);
    await removeFolder(dataDir, []);
  });
  let calls = 0;
  /** One call, whose result is committed. */
  const run = async (command: string, files: HandFiles): Promise<CallOutcome> => {
    calls += 1;
    const { hands_boot: handsBoot } = await hands.locate("hand_1", NEVER);
    const callId = `sevt_${calls}`;
    const call = makeCall({ callId, handsBoot, input: { command }, files });
    const outcome = await hands.execute(call, NEVER);
    await hands.settle(call);
    return outcome;
  };
  /** Commits what there is to tell, as servers do, until `isEnough`; gives what it knows of the files then. */
  const tell = async (
    isEnough: (files: HandFiles) => Promise<boolean> | boolean,
    known = BEGUN,
  ) => {
    let files = known;
    const look = async () => {
      for (const report of await hands.reports()) {
        const { checkpoint, line } = report;
        if (checkpoint !== null) files = { line, is_ahead: false, checkpoint };
        await hands.acknowledge(report);
      }
      return await isEnough(files);
    };
    await expect.poll(look, { timeout: 30_000, interval: 20 }).toBe(true);
    return files;
  };
  const { pid, pid_start } = await firstHands(hands, dataDir);
  return {
    ...{ dataDir, hands, run, tell },
    isFirstDead: async () => (await processStart(pid)) !== pid_start,
    has: (file: string) => existsSync(join(dataDir, "hands/hand_1", file)),
  };
}

async function firstHands(hands: LocalHands, dataDir: string) {
  await hands.locate("hand_1", NEVER);
  const file = await readHandsFile(dataDir);
  if (file === undefined) throw new Error("there are no hands");
  return file;
}

function textOf(outcome: CallOutcome): string {
  const block = outcome.type === "result" ? outcome.content[0] : undefined;
  return block?.type === "text" ? block.text.trim() : outcome.type;
}

async function expectNothingLeft({ hands, dataDir }: Awaited<ReturnType<typeof open>>) {
  await hands.dispose("hand_1");
  expect(readdirSync(join(dataDir, "hands"))).not.toContain("hand_1");
  expect(readdirSync(join(dataDir, "blobs/.drafts"))).toEqual([]);
}

describe("while files are kept and let go of", () => {
  test.each([
    "hands.keep.before",
    "hands.keep.after_blob",
    "hands.keep.after_report",
    "hands.acknowledge.before",
    "hands.keep.after_note",
    "hands.acknowledge.after",
    "hands.evict.after_discard",
  ] as const)("nothing is lost and nothing is left when the hands die at %s", async (point) => {
    const world = await open(point);
    expect(textOf(await world.run("echo one > file; sleep 600 & echo ran", BEGUN))).toBe("ran");
    const known = await world.tell(world.isFirstDead);
    await world.hands.locate("hand_1", NEVER);
    // It goes from here only once it is kept elsewhere. A note without files is the end of that.
    const hasNote = point !== "hands.evict.after_discard";
    const isGone = () => !world.has("workspace") && world.has("files.json") === hasNote;
    const files = await world.tell(isGone, known);
    expect(files.checkpoint).toBeDefined();
    expect(await readdir(join(world.dataDir, "hand-reports"))).toEqual([]);
    expect(textOf(await world.run("cat file; ls -A /mnt/session/.spill", files))).toBe("one");
    await expectNothingLeft(world);
  });
});

describe("while files begin anew", () => {
  test.each([
    ["hands.files.after_discard", 2],
    ["hands.files.after_note", 3],
    ["hands.restore.while_unpacking", 1],
    ["hands.restore.before_note", 1],
  ] as const)("they begin once more when the hands die at %s", async (point, nth) => {
    const world = await open(point, { nth, cacheBytesMax: 1_000_000_000 });
    await world.run(
      "mkdir -p a/b; echo one > a/b/file; seq 100000 > a/many; echo out > /mnt/session/outputs/o",
      BEGUN,
    );
    const kept = await world.tell(({ checkpoint }) => checkpoint !== undefined);
    const changes = "echo two > a/b/file; rm a/many; touch later";
    expect((await world.run(changes, { ...kept, is_ahead: true })).type).toBe("result");
    expect(await world.isFirstDead()).toBe(false);
    // As after a time on another machine, which ended there.
    const anew = { ...kept, line: 3 };
    expect(textOf(await world.run("echo never > ran", anew))).toBe("lost");
    expect(await world.isFirstDead()).toBe(true);
    const look = "cat a/b/file; wc -l < a/many; find . | sort; cat /mnt/session/outputs/*";
    const expected = "one\n100000\n.\n./a\n./a/b\n./a/b/file\n./a/many\nout";
    expect(textOf(await world.run(look, anew))).toBe(expected);
    await world.run("echo three > a/b/file", { ...anew, is_ahead: true });
    expect(textOf(await world.run("cat a/b/file", { ...anew, is_ahead: true }))).toBe("three");
    const told = await world.tell(({ line }) => line === 3);
    expect(told.checkpoint).not.toEqual(kept.checkpoint);
    await expectNothingLeft(world);
  });
});
