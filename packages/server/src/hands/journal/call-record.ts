import type { CallOutcome, HandCall } from "../../core/ports/hands.ts";
import { OutputTail } from "../../lib/output-tail.ts";

export type CallState = "accepted" | "running" | "done";

/** One call from its arrival until its result is settled. */
export class CallRecord {
  readonly call: HandCall;
  readonly output: OutputTail;
  /** Resolves with the outcome. */
  readonly ended: Promise<CallOutcome>;
  readonly #resolveEnded: (outcome: CallOutcome) => void;
  readonly #cancel = new AbortController();
  #started = false;
  #settled = false;
  #outcome: CallOutcome | undefined;
  #resultBytes = 0;

  constructor(call: HandCall, outputTailBytes: number) {
    this.call = call;
    this.output = new OutputTail(outputTailBytes);
    const { promise, resolve } = Promise.withResolvers<CallOutcome>();
    this.ended = promise;
    this.#resolveEnded = resolve;
  }

  get state(): CallState {
    if (this.#outcome) return "done";
    return this.#started ? "running" : "accepted";
  }

  get outcome(): CallOutcome | undefined {
    return this.#outcome;
  }

  get resultBytes(): number {
    return this.#resultBytes;
  }

  /** Aborted when the call was asked to end. */
  get cancelSignal(): AbortSignal {
    return this.#cancel.signal;
  }

  get isSettled(): boolean {
    return this.#settled;
  }

  start(): void {
    this.#started = true;
  }

  requestCancel(): void {
    this.#cancel.abort();
  }

  settle(): void {
    this.#settled = true;
  }

  finish(outcome: CallOutcome, resultBytes: number): void {
    this.#outcome = outcome;
    this.#resultBytes = resultBytes;
    this.#resolveEnded(outcome);
  }
}
