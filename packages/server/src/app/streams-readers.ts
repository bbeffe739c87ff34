/** How many streams of this process are open on each session. */
export class StreamReaders {
  readonly #bySession = new Map<string, number>();

  has(sessionId: string): boolean {
    return this.#bySession.has(sessionId);
  }

  /** Counts one more; the answer takes it back, once. */
  attach(sessionId: string): () => void {
    this.#add(sessionId, 1);
    let isAttached = true;
    return () => {
      if (isAttached) this.#add(sessionId, -1);
      isAttached = false;
    };
  }

  #add(sessionId: string, change: number): void {
    const count = (this.#bySession.get(sessionId) ?? 0) + change;
    if (count === 0) this.#bySession.delete(sessionId);
    else this.#bySession.set(sessionId, count);
  }
}
