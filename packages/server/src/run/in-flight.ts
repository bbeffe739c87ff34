import type { Effect } from "./effects.ts";
import type { Settlement } from "./settlement.ts";

export type Settled =
  | { readonly type: "settled"; readonly settlement: Settlement }
  | { readonly type: "threw"; readonly error: unknown };

interface Running {
  readonly controller: AbortController;
}

/** The effects that run at the moment, by the id of their action. */
export class InFlight {
  readonly #running = new Map<string, Running>();
  readonly #settled: { id: string; running: Running; result: Settled }[] = [];
  readonly #onSettled: () => void;

  constructor(onSettled: () => void) {
    this.#onSettled = onSettled;
  }

  get size(): number {
    return this.#running.size;
  }

  /** Starts what is missing and gives up what is no longer wanted. */
  reconcile(
    wanted: readonly Effect[],
    start: (effect: Effect, signal: AbortSignal) => Promise<Settlement>,
  ): void {
    const ids = new Set(wanted.map((effect) => effect.id));
    for (const [id, running] of this.#running) {
      if (ids.has(id)) continue;
      this.#running.delete(id);
      running.controller.abort();
    }
    for (const effect of wanted) {
      if (!this.#running.has(effect.id)) this.#start(effect, start);
    }
  }

  /** What has ended since it was last asked, without what had been given up before it ended. */
  takeSettled(): readonly Settled[] {
    const results: Settled[] = [];
    for (const { id, running, result } of this.#settled.splice(0)) {
      if (this.#running.get(id) !== running) continue;
      this.#running.delete(id);
      results.push(result);
    }
    return results;
  }

  /** Gives everything up. */
  abort(): void {
    for (const running of this.#running.values()) running.controller.abort();
    this.#running.clear();
  }

  #start(
    effect: Effect,
    start: (effect: Effect, signal: AbortSignal) => Promise<Settlement>,
  ): void {
    const running = { controller: new AbortController() };
    this.#running.set(effect.id, running);
    const done = (result: Settled) => {
      this.#settled.push({ id: effect.id, running, result });
      this.#onSettled();
    };
    start(effect, running.controller.signal).then(
      (settlement) => done({ type: "settled", settlement }),
      (error: unknown) => done({ type: "threw", error }),
    );
  }
}
