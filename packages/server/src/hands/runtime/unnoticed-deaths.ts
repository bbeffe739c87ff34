import type { SandboxEntry } from "./sandbox-entry.ts";

const DEATHS_MAX = 10_000;

/** How hands' sandboxes died by themselves, until a call tells of it. */
export class UnnoticedDeaths {
  readonly #deaths = new Map<string, { readonly entry: SandboxEntry; readonly why: string }>();

  add(handId: string, death: { readonly entry: SandboxEntry; readonly why: string }): void {
    this.#deaths.set(handId, death);
    for (const oldest of this.#deaths.keys()) {
      if (this.#deaths.size <= DEATHS_MAX) return;
      this.#deaths.delete(oldest);
    }
  }

  /** Why it died; undefined if it did not, or if that was told before. */
  take(handId: string): string | undefined {
    const death = this.#deaths.get(handId);
    this.#deaths.delete(handId);
    return death?.why;
  }

  /** Somebody has noticed this one's. */
  forget(handId: string, entry?: SandboxEntry): void {
    if (entry === undefined || this.#deaths.get(handId)?.entry === entry)
      this.#deaths.delete(handId);
  }
}
