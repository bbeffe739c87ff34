import type { OutputFile } from "../../core/ports/hands.ts";

/**
 * The outputs that were taken and that no server has committed yet, by hand: what is given to whoever
 * asks next. It ends with this process: what is not settled is taken again.
 */
export class OutputLedger {
  readonly #waiting = new Map<string, Map<string, OutputFile>>();
  readonly #listeners = new Map<string, Set<() => void>>();
  #last: number;

  /** `nowMs` is in milliseconds since 1970: places of a later boot are higher than those of an earlier. */
  constructor(nowMs: number) {
    this.#last = nowMs;
  }

  /** In the place of what waits under the same path; gives it with its own place. */
  add(handId: string, file: Omit<OutputFile, "found">): OutputFile {
    const files = this.#waiting.get(handId) ?? new Map<string, OutputFile>();
    this.#waiting.set(handId, files);
    this.#last += 1;
    // Deleted first, so that a map's order is that of the places.
    files.delete(file.path);
    const added = { ...file, found: this.#last };
    files.set(file.path, added);
    for (const listener of this.#listeners.get(handId) ?? []) listener();
    return added;
  }

  isWaiting(handId: string, path: string): boolean {
    return this.#waiting.get(handId)?.has(path) ?? false;
  }

  /** How many paths wait. */
  size(handId: string): number {
    return this.#waiting.get(handId)?.size ?? 0;
  }

  /** In the order of their places, those after the given one. */
  waiting(handId: string, after = 0): readonly OutputFile[] {
    return [...(this.#waiting.get(handId)?.values() ?? [])].filter(({ found }) => found > after);
  }

  /** What waits up to this place is committed; gives it. */
  settle(handId: string, to: number): readonly OutputFile[] {
    const files = this.#waiting.get(handId);
    const settled = [...(files?.values() ?? [])].filter(({ found }) => found <= to);
    for (const { path } of settled) files?.delete(path);
    if (files?.size === 0) this.#waiting.delete(handId);
    return settled;
  }

  /** Calls back whenever something is added; the returned function takes that back. */
  onAdded(handId: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(handId) ?? new Set();
    this.#listeners.set(handId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(handId) === listeners) {
        this.#listeners.delete(handId);
      }
    };
  }

  /** The hand is gone. */
  forget(handId: string): void {
    this.#waiting.delete(handId);
  }
}
