/** One piece of work per hand at a time, in the order in which it was asked for. */
export class HandTurns {
  readonly #turns = new Map<string, Promise<unknown>>();

  async take<T>(handId: string, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(handId) ?? Promise.resolve();
    const turn = before.then(work);
    const settled = turn.catch(() => undefined);
    this.#turns.set(handId, settled);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(handId) === settled) this.#turns.delete(handId);
    }
  }
}
