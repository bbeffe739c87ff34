import { appendFile, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { BlobRef, Blobs } from "../../core/ports/blobs.ts";
import { systemClock } from "../../lib/system-clock.ts";
import { HandsRunningError, type HandsTimes, runHands } from "../main.ts";
import { HANDS_RUNNING_EXIT_CODE } from "../protocol/hands-file.ts";
import type { RunTool } from "../runtime/call-runner.ts";
import { ScriptedProvider } from "./scripted-provider.ts";

/**
 * The hands process as it is, but for the sandboxes: its one tool notes that it ran in a file of the
 * data folder, and ends at once or when another file tells it to. Started by tests as
 * `node marking-hands-main.ts <data folder> <times as JSON> <unsafe names>`.
 */
export const MARKS_FOLDER = "marks";

const [dataDir = "", times = "{}", unsafe = ""] = process.argv.slice(2);

const noBlobs: Blobs = {
  put: () => Promise.reject<BlobRef>(new Error("a marking hand has no outputs")),
  get: () => Promise.resolve(undefined),
  delete: () => Promise.resolve(),
};

const mark: RunTool = async (sandbox, { input }, onOutput, signal) => {
  const name = String(input["mark"]);
  const folder = join(dataDir, MARKS_FOLDER);
  await mkdir(folder, { recursive: true });
  await appendFile(join(folder, sandbox.handId), `${name}\n`);
  onOutput(Buffer.from(`begun ${name}\n`));
  while (input["waits"] && !signal.aborted && !(await isReleased(folder, sandbox.handId, name))) {
    await systemClock.sleepUntil(systemClock.now() + 10, signal);
  }
  return { content: [{ type: "text", text: name }], is_error: false };
};

async function isReleased(folder: string, handId: string, name: string): Promise<boolean> {
  const released = await readFile(join(folder, `${handId}.released`), "utf8").catch(() => "");
  return released.split("\n").includes(name);
}

const ending = new AbortController();
process.once("SIGTERM", () => ending.abort());
try {
  await runHands({
    dataDir,
    adapters: () => ({
      provider: new ScriptedProvider(),
      blobs: noBlobs,
      runTool: mark,
      clock: systemClock,
      report: (event, fields) => process.stderr.write(`${event} ${JSON.stringify(fields)}\n`),
    }),
    signal: ending.signal,
    times: JSON.parse(times) as Partial<HandsTimes>,
    unsafeForgetCalls: unsafe.includes("journal"),
  });
} catch (error) {
  process.exitCode = error instanceof HandsRunningError ? HANDS_RUNNING_EXIT_CODE : 1;
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
}
