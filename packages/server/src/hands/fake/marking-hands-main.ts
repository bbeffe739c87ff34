import { access, appendFile, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { BlobRef, Blobs } from "../../core/ports/blobs.ts";
import { systemClock } from "../../lib/system-clock.ts";
import type { RunTool } from "../runtime/run-tool.ts";
import { runTestHands, type TestHandsOptions } from "./run-test-hands.ts";
import { ScriptedProvider } from "./scripted-provider.ts";

/** What a test says to the process, as JSON in its one argument. */
export interface MarkingHandsOptions extends TestHandsOptions {
  /** The proof that earlier sandboxes are gone takes until this file is there. */
  readonly reapUntil?: string;
}

/**
 * The hands process as it is, but for the sandboxes: its one tool notes in a file of the data folder
 * that it ran, and ends at once or when another file tells it to.
 */
const { reapUntil, ...life } = JSON.parse(process.argv[2] ?? "{}") as MarkingHandsOptions;
const { dataDir } = life;
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
  while (reapUntil !== undefined && !(await exists(reapUntil))) {
    await systemClock.sleepUntil(systemClock.now() + 10, new AbortController().signal);
  }
};

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}

await runTestHands(life, async () => ({
  provider,
  blobs: noBlobs,
  runTool: mark,
  clock: systemClock,
}));
