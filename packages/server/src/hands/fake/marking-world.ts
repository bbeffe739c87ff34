import { appendFile, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { HandsWorld } from "../../core/ports/hands.testsuite.ts";
import type { HandCall } from "../../core/ports/hands.ts";
import { systemClock } from "../../lib/system-clock.ts";
import { LocalHands, type LocalHandsOptions } from "../protocol/hands-client.ts";
import { processStart, readHandsFile } from "../protocol/hands-file.ts";
import type { StartHands } from "../protocol/hands-finder.ts";
import type { MarkingHandsOptions } from "./marking-hands-main.ts";

export const MARKING_HANDS_MAIN = join(import.meta.dirname, "marking-hands-main.ts");

/** The arguments to Node that start the hands of a test. */
export function markingHandsArgs(options: MarkingHandsOptions): string[] {
  return ["--conditions=drover-source", MARKING_HANDS_MAIN, JSON.stringify(options)];
}

export interface MarkingWorld extends HandsWorld {
  readonly dataDir: string;
  readonly hands: LocalHands;
  /** The hands process's id, if one is to be found. */
  pid(): Promise<number | undefined>;
}

/** A data folder with a real hands process, started when first needed, and a client to it. */
export async function openMarkingWorld(
  startIn: (dataDir: string) => StartHands,
  options: Partial<LocalHandsOptions> = {},
): Promise<MarkingWorld> {
  const dataDir = await mkdtemp(join(tmpdir(), "drover-hands-"));
  const marks = join(dataDir, "marks");
  await mkdir(marks);
  const hands = new LocalHands({
    dataDir,
    start: startIn(dataDir),
    clock: systemClock,
    ...options,
  });
  return {
    dataDir,
    hands,
    call: (mark, options = {}): Pick<HandCall, "name" | "input"> => ({
      name: "mark",
      input: { mark, ...options },
    }),
    runs: async (handId, mark) => {
      const lines = await readFile(join(marks, handId), "utf8").catch(() => "");
      return lines.split("\n").filter((line) => line === mark).length;
    },
    release: (handId, mark) => appendFile(join(marks, `${handId}.released`), `${mark}\n`),
    killBoot: () => killHands(dataDir),
    pid: async () => (await readHandsFile(dataDir))?.pid,
    [Symbol.asyncDispose]: async () => {
      hands.close();
      await killHands(dataDir);
      await rm(dataDir, { recursive: true });
    },
  };
}

/** Kills the hands that are to be found in the folder; resolves when the process is gone. */
export async function killHands(dataDir: string): Promise<void> {
  const file = await readHandsFile(dataDir);
  if (!file || (await processStart(file.pid)) !== file.pid_start) return;
  process.kill(file.pid, "SIGKILL");
  await untilGone(file.pid);
}

/** Resolves when there is no process with this id. */
export async function untilGone(pid: number): Promise<void> {
  while ((await processStart(pid)) !== "") {
    await systemClock.sleepUntil(systemClock.now() + 10, new AbortController().signal);
  }
}
