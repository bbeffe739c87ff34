import type { CheckpointLimits } from "../checkpoints/checkpoint-keeper.ts";
import { OUTPUT_WATCH_TIMES } from "../outputs/output-watch.ts";
import type { CallLimits } from "./call-runner.ts";

export interface HandsTimes extends CallLimits {
  /** These hands end when no server has spoken and no call has run for so long. */
  readonly quietMs: number;
  /** Between two looks at the lock, `hands.json` and idle sandboxes. */
  readonly lookMs: number;
  readonly sandboxIdleMs: number;
  /** Between two looks at what a running command has left for its user, at least. */
  readonly outputLookMs: number;
  readonly provisionMs: number;
  /** For one whose packages may have to be installed first. */
  readonly installMs: number;
  /** For an orderly end; what is left after it dies with the process. */
  readonly endMs: number;
}

export const HANDS_TIMES: HandsTimes = {
  quietMs: 10 * 60_000,
  lookMs: 1_000,
  sandboxIdleMs: 30 * 60_000,
  outputLookMs: OUTPUT_WATCH_TIMES.lookMs,
  provisionMs: 30_000,
  installMs: 60 * 60_000,
  endMs: 15_000,
  callMs: 15 * 60_000,
  bashCallMs: (10 * 60 + 15) * 60_000,
  stopGraceMs: 10_000,
  collectMs: 60_000,
};

export const SANDBOXES_MAX = 256;

export interface Keeping extends Omit<CheckpointLimits, "idleMs"> {
  /** Below so much free memory the sandbox that was not used for the longest time is ended. */
  readonly freeMemoryBytesMin: number;
}

const GIB = 1024 * 1024 * 1024;

export const KEEPING: Keeping = {
  checkpointBytesMax: 4 * GIB,
  cacheBytesMax: 20 * GIB,
  freeDiskBytesMin: GIB,
  freeMemoryBytesMin: GIB / 4,
};
