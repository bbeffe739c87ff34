import { access, appendFile, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { BlobRef, Blobs } from "../../core/ports/blobs.ts";
import { armFailPoint, type FailPointPlan } from "../../lib/fail-point.ts";
import { systemClock } from "../../lib/system-clock.ts";
import { HANDS_RUNNING_EXIT_CODE } from "../protocol/hands-file.ts";
import type { RunTool } from "../runtime/call-runner.ts";
import { HandsRunningError, liveAsHands } from "../runtime/hands-life.ts";
import type { HandsTimes } from "../runtime/hands-limits.ts";
import { ScriptedProvider } from "./scripted-provider.ts";

/** What a test says to the process, as JSON in its one argument. */
export interface MarkingHandsOptions {
  readonly dataDir: string;
  readonly times?: Partial<HandsTimes>;
  readonly unsafeForgetCalls?: boolean;
  readonly failPoint?: FailPointPlan;
  /** The proof that earlier sandboxes are gone takes until this file is there. */
  readonly reapUntil?: string;
}

/**
 * The hands process as it is, but for the sandboxes: its one tool notes in a file of the data folder
 * that it ran, and ends at once or when another file tells it to.
 */
const options = JSON.parse(process.argv[2] ?? "{}") as MarkingHandsOptions;
const { dataDir } = options;
const marks = join(dataDir, "marks");

const noBlobs: Blobs = {
  put: () => Promise.reject<BlobRef>(new Error("a marking hand has no outputs")),
  get: () => Promise.resolve(undefined),
  delete: () => Promise.resolve(),
  list: async function* () {},
};

const mark: RunTool = async (sandbox, { input }, onOutput, signal) => {
  const name = String(input["mark"]);
  await mkdir(marks, { recursive: true });
  await appendFile(join(marks, sandbox.handId), `${name}\n`);
  onOutput(Buffer.from(`begun ${name}\n`));
  while (input["waits"] && !signal.aborted && !(await isReleased(sandbox.handId, name))) {
    await systemClock.sleepUntil(systemClock.now() + 10, signal);
  }
  return { content: [{ type: "text", text: name }], is_error: false };
};

async function isReleased(handId: string, name: string): Promise<boolean> {
  const released = await readFile(join(marks, `${handId}.released`), "utf8").catch(() => "");
  return released.split("\n").includes(name);
}

const provider = new ScriptedProvider();
provider.reap = async () => {
  const { reapUntil } = options;
  while (reapUntil !== undefined && !(await exists(reapUntil))) {
    await systemClock.sleepUntil(systemClock.now() + 10, ending.signal);
  }
};

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}

const ending = new AbortController();
process.once("SIGTERM", () => ending.abort());
armFailPoint(options.failPoint);
try {
  await liveAsHands({
    dataDir,
    openAdapters: async () => ({
      provider,
      blobs: noBlobs,
      runTool: mark,
      clock: systemClock,
      report: (event, fields) => process.stderr.write(`${event} ${JSON.stringify(fields)}\n`),
    }),
    signal: ending.signal,
    times: options.times ?? {},
    unsafeForgetCalls: options.unsafeForgetCalls ?? false,
  });
} catch (error) {
  process.exitCode = error instanceof HandsRunningError ? HANDS_RUNNING_EXIT_CODE : 1;
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
}
