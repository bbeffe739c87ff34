import { spawn } from "node:child_process";
import { mkdir, open, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { HANDS_RUNNING_EXIT_CODE, readHandsFile } from "../hands/protocol/hands-file.ts";
import type { StartHands } from "../hands/protocol/hands-finder.ts";
import { failPoint } from "../lib/fail-point.ts";
import { systemClock } from "../lib/system-clock.ts";

export interface SpawnHandsOptions {
  /** Absolute, for the hands do not start in the server's folder. */
  readonly dataDir: string;
  /** The program, normally `process.execPath`, and what makes it `drover hands` for that data folder. */
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment of the hands: nothing of the server's is inherited. */
  readonly env: Readonly<Record<string, string>>;
}

const LOG_BYTES_MAX = 5 * 1024 * 1024;
const LOG_TAIL_BYTES = 4 * 1024;
const LOOK_MS = 20;
/** Before another start is tried when other hands have the lock but are not to be found. */
const OTHERS_PAUSE_MS = 500;

/** Hands that a signal ended while they started are no sign of a lasting fault. */
const ATTEMPTS_MAX = 3;

type Start =
  | { readonly type: "published" }
  | { readonly type: "others" }
  | { readonly type: "failed"; readonly why: string; readonly isKilled?: boolean };

/**
 * Starts hands that outlive the server: in a session of their own, so that no signal to the server's
 * group reaches them, with no open file of the server, and with `<data>/hands.log` for what they say.
 */
export function handsSpawner(options: SpawnHandsOptions): StartHands {
  return async (signal) => {
    const { dataDir } = options;
    const bootBefore = (await readHandsFile(dataDir))?.boot;
    const isPublished = async () => {
      const file = await readHandsFile(dataDir);
      return file !== undefined && file.boot !== bootBefore;
    };
    for (let attempt = 1; ; attempt += 1) {
      const { start, logBytes } = await startOnce(options, isPublished, signal);
      if (start.type === "published") return;
      if (start.type === "others") return await pauseUnless(isPublished, signal);
      if (start.isKilled === true && attempt < ATTEMPTS_MAX && !signal.aborted) continue;
      throw new Error(await explain(dataDir, start.why, logBytes));
    }
  };
}

async function startOnce(
  options: SpawnHandsOptions,
  isPublished: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<{ start: Start; logBytes: number }> {
  const log = await openLog(options.dataDir);
  const { size: logBytes } = await log.stat();
  const child = launch(options, log.fd);
  failPoint("serve.spawn.after_launch");
  await log.close();
  return { start: await waitForStart(child, isPublished, signal), logBytes };
}

/** A child and what became of it; its listeners are there before anything can be missed. */
interface Child {
  ending: Start | undefined;
}

function launch({ command, args, env, dataDir }: SpawnHandsOptions, logFd: number): Child {
  const child: Child = { ending: undefined };
  const process = spawn(command, args, {
    cwd: dataDir,
    detached: true,
    env,
    stdio: ["ignore", logFd, logFd],
  });
  process.once("error", (error) => {
    child.ending = { type: "failed", why: `${command} could not be run (${error.message})` };
  });
  process.once("exit", (code, killedBy) => {
    child.ending =
      code === HANDS_RUNNING_EXIT_CODE
        ? { type: "others" }
        : {
            type: "failed",
            why: `they ended at once (${killedBy ?? `exit code ${code}`})`,
            isKilled: killedBy !== null,
          };
  });
  // The server may end while the hands live on.
  process.unref();
  return child;
}

async function waitForStart(
  child: Child,
  isPublished: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<Start> {
  while (!signal.aborted) {
    if (await isPublished()) return { type: "published" };
    if (child.ending) return child.ending;
    await systemClock.sleepUntil(systemClock.now() + LOOK_MS, signal);
  }
  // It is left alone: it may be ending what an earlier boot left behind, and will be found later.
  return { type: "failed", why: "they were started but are not ready yet" };
}

async function pauseUnless(
  isPublished: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<void> {
  const untilMs = systemClock.now() + OTHERS_PAUSE_MS;
  while (!signal.aborted && systemClock.now() < untilMs && !(await isPublished())) {
    await systemClock.sleepUntil(systemClock.now() + LOOK_MS, signal);
  }
}

/** Appended to, and put aside when it is large: two files of bounded size, old lines lost first. */
async function openLog(dataDir: string) {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const path = logPath(dataDir);
  const bytes = await stat(path).then(
    ({ size }) => size,
    () => 0,
  );
  if (bytes > LOG_BYTES_MAX) await rename(path, `${path}.1`);
  return await open(path, "a", 0o600);
}

/**
 * With what these hands have said, and nothing older: the sentence becomes the result of a call, which
 * must not show what earlier hands have said of others' sessions.
 */
async function explain(dataDir: string, why: string, logBytes: number): Promise<string> {
  const path = logPath(dataDir);
  const log = await open(path, "r");
  try {
    const { size } = await log.stat();
    const tail = Buffer.alloc(Math.min(Math.max(size - logBytes, 0), LOG_TAIL_BYTES));
    await log.read(tail, 0, tail.byteLength, size - tail.byteLength);
    const said = tail.toString("utf8").trim();
    return said === "" ? `${why}, without a word in ${path}.` : `${why}. In ${path}:\n${said}`;
  } finally {
    await log.close();
  }
}

function logPath(dataDir: string): string {
  return join(dataDir, "hands.log");
}
