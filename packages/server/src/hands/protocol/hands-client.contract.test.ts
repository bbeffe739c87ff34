import { appendFile, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { type HandsWorld, testHands } from "../../core/ports/hands.testsuite.ts";
import { systemClock } from "../../lib/system-clock.ts";
import { handsSpawner } from "../../serve/spawn-hands.ts";
import { LocalHands } from "./hands-client.ts";
import { readHandsFile } from "./hands-file.ts";

const ENTRY = join(import.meta.dirname, "../fake/marking-hands-main.ts");

testHands(openWorld);

async function openWorld(): Promise<HandsWorld> {
  const dataDir = await mkdtemp(join(tmpdir(), "drover-hands-"));
  const marks = join(dataDir, "marks");
  await mkdir(marks);
  const start = handsSpawner({
    dataDir,
    command: process.execPath,
    args: ["--conditions=source", ENTRY, dataDir],
    env: {},
  });
  const hands = new LocalHands({ dataDir, start, clock: systemClock });
  return {
    hands,
    call: (mark, { waits } = { waits: false }) => ({ name: "mark", input: { mark, waits } }),
    runs: async (handId, mark) => {
      const lines = await readFile(join(marks, handId), "utf8").catch(() => "");
      return lines.split("\n").filter((line) => line === mark).length;
    },
    release: (handId, mark) => appendFile(join(marks, `${handId}.released`), `${mark}\n`),
    killBoot: () => kill(dataDir),
    [Symbol.asyncDispose]: async () => {
      hands.close();
      await kill(dataDir);
      await rm(dataDir, { recursive: true });
    },
  };
}

async function kill(dataDir: string): Promise<void> {
  const file = await readHandsFile(dataDir);
  if (!file) return;
  if (isAlive(file.pid)) process.kill(file.pid, "SIGKILL");
  await expect.poll(() => isAlive(file.pid)).toBe(false);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
