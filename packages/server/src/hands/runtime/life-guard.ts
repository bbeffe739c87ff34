import type { Clock } from "../../core/ports/clock.ts";

export interface LifeGuardOptions {
  readonly clock: Clock;
  /** Between two looks, in milliseconds. */
  readonly everyMs: number;
  /** These hands end when nobody has spoken and nothing has run for so long. */
  readonly quietMs: number;
  readonly quietSinceMs: () => number;
  readonly isLockHeld: () => boolean;
  /** False if another boot's, or no, `hands.json` stands in the data folder. */
  readonly isPublished: () => Promise<boolean>;
  /** What is to be done at each look beside. */
  readonly onLook: () => void;
  /** A look failed, as when the disk does not answer. That is no reason to end: calls may run. */
  readonly onProblem: (error: unknown) => undefined;
}

/**
 * Resolves with a sentence when these hands have no business to live any more: hands that no server
 * can find, or that no server needs, would run unseen for ever. Resolves with undefined when the
 * signal is aborted.
 */
export async function guardLife(
  options: LifeGuardOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { clock, everyMs } = options;
  while (!signal.aborted) {
    await clock.sleepUntil(clock.now() + everyMs, signal);
    const reason = await reasonToEnd(options).catch(options.onProblem);
    if (reason !== undefined && !signal.aborted) return reason;
    options.onLook();
  }
  return undefined;
}

async function reasonToEnd(options: LifeGuardOptions): Promise<string | undefined> {
  if (!options.isLockHeld()) return "the lock file is gone or was replaced";
  if (!(await options.isPublished())) return "hands.json is gone or is another boot's";
  const quietMs = options.clock.now() - options.quietSinceMs();
  if (quietMs < options.quietMs) return undefined;
  return `no server has spoken for ${Math.round(quietMs / 1000)} s`;
}
