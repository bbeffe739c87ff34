import { existsSync, readdirSync } from "node:fs";
import { mkdtemp, readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { HandFiles } from "../../core/ports/hands.ts";
import type { FailPoint } from "../../lib/fail-point.ts";
import { systemClock } from "../../lib/system-clock.ts";
import { handsSpawner } from "../../serve/spawn-hands.ts";
import { makeCall } from "../fake/make-call.ts";
import { killHands } from "../fake/marking-world.ts";
import { LocalHands } from "../protocol/hands-client.ts";
import { removeFolder } from "../sandbox/local/remove-folder.ts";

/** `drover hands` with real sandboxes, killed while it keeps files, lets go of them and gets them back. */

const NEVER = new AbortController().signal;
const BEGUN: HandFiles = { line: 1, is_ahead: false };
const PROGRAM = join(import.meta.dirname, "../../cli/main.ts");

/** Commits what there is to tell, as servers do, until `isEnough`; gives what it knows of the files then. */
async function tell(
  hands: LocalHands,
  isEnough: () => Promise<boolean> | boolean,
  known = BEGUN,
): Promise<HandFiles> {
  let files = known;
  const look = async () => {
    for (const report of await hands.reports()) {
      const { checkpoint } = report;
      if (checkpoint !== null) files = { line: 1, is_ahead: false, checkpoint };
      await hands.acknowledge(report);
    }
    return await isEnough();
  };
  await expect.poll(look, { timeout: 30_000, interval: 50 }).toBe(true);
  return files;
}

async function open(failPoint: FailPoint) {
  const dataDir = await mkdtemp(join(tmpdir(), "drover-deaths-"));
  const clients: LocalHands[] = [];
  onTestFinished(async () => {
    for (const client of clients) client.close();
    await killHands(dataDir);
    await removeFolder(dataDir, []);
  });
  const start = (point?: FailPoint) => {
    const env = {
      ...{ PATH: "/usr/bin:/bin", DROVER_SANDBOX_IDLE_SECONDS: "1", DROVER_SANDBOX_CACHE_MB: "0" },
      ...(point !== undefined && { DROVER_TEST_FAIL_POINT: `${point}:1` }),
    };
    const args = ["--conditions=source", PROGRAM, "--data", dataDir, "hands"];
    const command = { dataDir, command: process.execPath, args, env };
    const hands = new LocalHands({ dataDir, start: handsSpawner(command), clock: systemClock });
    clients.push(hands);
    return hands;
  };
  const hand = join(dataDir, "hands/hand_1");
  return {
    dataDir,
    first: start(failPoint),
    second: () => start(),
    has: (name: string) => existsSync(join(hand, name)),
  };
}

async function run(hands: LocalHands, callId: string, command: string, files: HandFiles) {
  const { hands_boot } = await hands.locate("hand_1", NEVER);
  const call = makeCall({ callId, handsBoot: hands_boot, input: { command }, files });
  const outcome = await hands.execute(call, NEVER);
  await hands.settle(call);
  const block = outcome.type === "result" ? outcome.content[0] : undefined;
  return block?.type === "text" ? block.text.trim() : outcome.type;
}

async function isDead(dataDir: string): Promise<boolean> {
  const { pid } = JSON.parse(await readFile(join(dataDir, "hands.json"), "utf8"));
  return !existsSync(`/proc/${pid}`) || (await stateOf(pid)) === "Z";
}

async function stateOf(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => ") Z");
  return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3);
}

test.each([
  "hands.keep.before",
  "hands.keep.after_blob",
  "hands.keep.after_report",
  "hands.acknowledge.before",
  "hands.keep.after_note",
  "hands.evict.after_discard",
] as const)("nothing is lost and nothing is left when the hands die at %s", async (point) => {
  const world = await open(point);
  expect(await run(world.first, "sevt_1", "echo one > file; sleep 600 &", BEGUN)).toBeDefined();
  const known = await tell(world.first, () => isDead(world.dataDir));
  const hands = world.second();
  await hands.locate("hand_1", NEVER);
  // It goes from here only once it is kept elsewhere. A note without files is the end of that.
  const isGone = () => !world.has("workspace") && world.has("files.json") === hasNote;
  const hasNote = point !== "hands.evict.after_discard";
  const files = await tell(hands, isGone, known);
  expect(files.checkpoint).toBeDefined();
  expect(await readdir(join(world.dataDir, "hand-reports"))).toEqual([]);
  expect(await run(hands, "sevt_2", "cat file; ls -A /mnt/session/.spill", files)).toBe("one");
  await hands.dispose("hand_1");
  expect(readdirSync(join(world.dataDir, "hands"))).not.toContain("hand_1");
  expect(readdirSync(join(world.dataDir, "blobs/.drafts"))).toEqual([]);
});
