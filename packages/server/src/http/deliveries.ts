import type { AppContext } from "./context.ts";

/** Answers of which it is known that they went out; beyond that the oldest are not known any more. */
const DELIVERIES_MAX = 50_000;

/** When this process handed answers to their connections, by request. */
export class Deliveries {
  readonly #now: () => number;
  /** In order of time, in milliseconds since 1970. */
  readonly #deliveredAt = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Notes when the response that `c` is about to get has gone out as a whole. */
  watch(c: AppContext, requestKey: string): void {
    this.#deliveredAt.delete(requestKey);
    c.env?.outgoing?.once("finish", () => {
      this.#deliveredAt.set(requestKey, this.#now());
      if (this.#deliveredAt.size <= DELIVERIES_MAX) return;
      for (const [oldest] of this.#deliveredAt) {
        this.#deliveredAt.delete(oldest);
        return;
      }
    });
  }

  /** True if the answer went out more than `ms` ago. */
  isOlder(requestKey: string, ms: number): boolean {
    const at = this.#deliveredAt.get(requestKey);
    return at !== undefined && this.#now() - at > ms;
  }
}
