/** So many pieces of work at the same time; others wait for their turn, the longest waiting first. */
export class Places {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      // The place is passed on, so that nobody who comes just now is before who waits.
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
