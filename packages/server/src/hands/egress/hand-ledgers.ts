import { EgressLedger } from "./egress-ledger.ts";

/** Hands whose untold decisions are kept; beyond, those that came first are forgotten. */
const HANDS_MAX = 10_000;

/**
 * A ledger a hand, which outlives its sandboxes: what one did after the last call is told with the first
 * result of the next.
 */
export class HandLedgers {
  readonly #ledgers = new Map<string, EgressLedger>();

  of(handId: string): EgressLedger {
    const ledger = this.#ledgers.get(handId) ?? new EgressLedger(() => performance.now());
    this.#ledgers.delete(handId);
    this.#ledgers.set(handId, ledger);
    const [oldest] = this.#ledgers.keys();
    if (this.#ledgers.size > HANDS_MAX && oldest !== undefined) this.#ledgers.delete(oldest);
    return ledger;
  }

  /** The hand is gone. */
  forget(handId: string): void {
    this.#ledgers.delete(handId);
  }
}
