import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { keepTrackOf, killChild } from "./children.ts";
import { within } from "./clock.ts";

const MAIN = fileURLToPath(new URL("../crowd-process.ts", import.meta.url));
/** Beside the answer itself, for making the sessions and taking them up. */
const WORK_MS = 180_000;

export interface CrowdRequest {
  /** For its database; it is made. */
  readonly folder: string;
  readonly sessions: number;
  /** How long each answer of the model takes. */
  readonly answerMs: number;
}

/** What sessions cost while their model answers. Bytes are of one session. */
export interface Crowd {
  readonly sessions: number;
  /** True if all of them were waiting for their model when memory was measured. */
  readonly wereInside: boolean;
  readonly heapBytes: number;
  readonly residentBytes: number;
  /** From the first message until the model was asked by all, and until all were idle again. */
  readonly allAskedMs: number;
  readonly allAnsweredMs: number;
  /** The loop's delay, its 99th percentile: while they ask, while they wait and while they end. */
  readonly delayMs: {
    readonly asking: number;
    readonly answering: number;
    readonly ending: number;
  };
}

/** Runs `crowd-process.ts` once, in a process of its own. */
export async function gatherCrowd(request: CrowdRequest): Promise<Crowd> {
  const child = keepTrackOf(
    fork(MAIN, {
      execArgv: ["--expose-gc", "--conditions=drover-source"],
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    }),
  );
  try {
    const answered = once(child, "message");
    const ended = once(child, "exit").then(([code]) => {
      throw new Error(`the crowd's process ended with ${code}`);
    });
    child.send(request);
    const work = Promise.race([answered, ended]);
    const [crowd] = await within(request.answerMs + WORK_MS, "a crowd of sessions", work);
    ended.catch(() => undefined);
    return crowd as Crowd;
  } finally {
    await killChild(child, "SIGKILL");
  }
}
