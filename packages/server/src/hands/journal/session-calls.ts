export interface JournalLimits {
  /** Calls of one session whose results are not settled. */
  readonly openCallsPerSession: number;
  /** Settled and cancelled ids kept per session, the oldest forgotten first. */
  readonly rememberedIdsPerSession: number;
  /** Sessions whose epoch is remembered, quiet ones forgotten first. */
  readonly sessions: number;
  /** Calls of all sessions whose results are not settled. */
  readonly openCalls: number;
  /** Bytes of one result; a larger one is replaced by an error that says so. */
  readonly resultBytes: number;
  /** Bytes of all results that are not settled, beyond which no call is taken. */
  readonly heldBytes: number;
  /** Output kept of a running call, for those who watch it. */
  readonly outputTailBytes: number;
}

/** What is remembered of one session beside its open calls. */
export class SessionCalls {
  readonly #rememberedIdsMax: number;
  readonly #past = new Map<string, "settled" | "cancelled">();
  #highestEpoch = 0;
  #openCalls = 0;

  constructor(limits: Pick<JournalLimits, "rememberedIdsPerSession">) {
    this.#rememberedIdsMax = limits.rememberedIdsPerSession;
  }

  get openCalls(): number {
    return this.#openCalls;
  }

  /** False, and nothing changes, if a higher epoch was seen. */
  raiseEpoch(epoch: number): boolean {
    if (epoch < this.#highestEpoch) return false;
    this.#highestEpoch = epoch;
    return true;
  }

  past(callId: string): "settled" | "cancelled" | undefined {
    return this.#past.get(callId);
  }

  remember(callId: string, state: "settled" | "cancelled"): void {
    this.#past.delete(callId);
    this.#past.set(callId, state);
    for (const oldest of this.#past.keys()) {
      if (this.#past.size <= this.#rememberedIdsMax) break;
      this.#past.delete(oldest);
    }
  }

  opened(): void {
    this.#openCalls += 1;
  }

  settled(callId: string): void {
    this.#openCalls -= 1;
    this.remember(callId, "settled");
  }
}
