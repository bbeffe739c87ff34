import type { Clock } from "../../core/ports/clock.ts";

interface Sleeper {
  readonly atMs: number;
  readonly wake: () => void;
}

/** A clock that stands still until a test moves it. */
export class ManualClock implements Clock {
  #nowMs = 1_000_000;
  readonly #sleepers = new Set<Sleeper>();

  /** How many wait for some time to come. */
  get sleepers(): number {
    return this.#sleepers.size;
  }

  now(): number {
    return this.#nowMs;
  }

  sleepUntil(atMs: number, signal: AbortSignal): Promise<void> {
    if (atMs <= this.#nowMs || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        this.#sleepers.delete(sleeper);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      const sleeper = { atMs, wake };
      this.#sleepers.add(sleeper);
      signal.addEventListener("abort", wake, { once: true });
    });
  }

  /** Lets time pass at once; resolves when what it woke has had its turn. */
  async advance(ms: number): Promise<void> {
    this.#nowMs += ms;
    for (const sleeper of this.#sleepers) {
      if (sleeper.atMs <= this.#nowMs) sleeper.wake();
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}
