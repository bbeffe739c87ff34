import type { Clock } from "../../core/ports/clock.ts";
import type { Sandbox } from "../../core/ports/sandbox.ts";
import type { Collected, HandOfOutputs, OutputCollector } from "./output-collector.ts";

export interface OutputWatchOptions {
  readonly collector: Pick<OutputCollector, "collect">;
  readonly clock: Clock;
  readonly times?: Partial<OutputWatchTimes>;
}

export interface OutputWatchTimes {
  /** Between two looks at least, in milliseconds. */
  readonly lookMs: number;
  /** The part of the time that looks may take: after each the pause is as much longer. */
  readonly shareMax: number;
  /** Taken while commands run without a break; what comes then waits for the end of one. */
  readonly room: Collected;
}

export const OUTPUT_WATCH_TIMES: OutputWatchTimes = {
  lookMs: 1_000,
  shareMax: 1 / 20,
  room: { files: 1_000, bytes: 2 * 1024 * 1024 * 1024 },
};

interface Watching {
  users: number;
  readonly over: AbortController;
}

/**
 * Takes outputs while commands run, so that their user need not wait for the end. A file is taken once two
 * looks in a row found it the same: what is being written is not stored in every state it goes through.
 */
export class OutputWatch {
  readonly #options: OutputWatchOptions;
  readonly #times: OutputWatchTimes;
  /** One for a sandbox, however many calls it runs. */
  readonly #watching = new Map<Sandbox, Watching>();

  constructor(options: OutputWatchOptions) {
    this.#options = options;
    this.#times = { ...OUTPUT_WATCH_TIMES, ...options.times };
  }

  /** Until the returned function is called, or the sandbox is dead. */
  begin(sandbox: Sandbox, hand: HandOfOutputs): () => void {
    const watching = this.#watching.get(sandbox) ?? { users: 0, over: new AbortController() };
    if (watching.users === 0) {
      this.#watching.set(sandbox, watching);
      void this.#watch(sandbox, hand, watching.over.signal);
    }
    watching.users += 1;
    return () => {
      watching.users -= 1;
      if (watching.users > 0) return;
      watching.over.abort();
      this.#watching.delete(sandbox);
    };
  }

  async #watch(sandbox: Sandbox, hand: HandOfOutputs, signal: AbortSignal): Promise<void> {
    const { clock, collector } = this.#options;
    const { lookMs, shareMax } = this.#times;
    let { room } = this.#times;
    let pauseMs = lookMs;
    while (!signal.aborted && room.files > 0 && room.bytes > 0) {
      await clock.sleepUntil(clock.now() + pauseMs, signal);
      if (signal.aborted) return;
      const begun = clock.now();
      const options = { onlySettled: true, room };
      const taken = await collector.collect(sandbox, hand, signal, options);
      room = { files: room.files - taken.files, bytes: room.bytes - taken.bytes };
      pauseMs = Math.max(lookMs, (clock.now() - begun) / shareMax);
    }
  }
}
