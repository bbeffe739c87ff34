import type { Clock } from "../../core/ports/clock.ts";

/** A signal that is aborted `afterMs` from now, by the port's clock. Dispose of it when the work is done. */
export class Deadline implements Disposable {
  readonly #over = new AbortController();
  readonly #work = new AbortController();

  constructor(clock: Clock, afterMs: number) {
    void clock.sleepUntil(clock.now() + afterMs, this.#work.signal).then(() => {
      if (!this.#work.signal.aborted) this.#over.abort();
    });
  }

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  get isOver(): boolean {
    return this.#over.signal.aborted;
  }

  /** Resolves when it is over; never, if it was disposed of before. */
  get passed(): Promise<void> {
    return whenAborted(this.#over.signal);
  }

  [Symbol.dispose](): void {
    this.#work.abort();
  }
}

export function whenAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
