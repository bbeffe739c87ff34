/** A sealed text that is to be another place's. */
export interface SealedMove {
  readonly sealed: string;
  /** The bindings of the two places, see `SecretBox`. */
  readonly from: string;
  readonly to: string;
}

export type CarryOutcome =
  /** In the order in which they were given. */
  | { readonly type: "carried"; readonly sealed: readonly string[] }
  /** A sentence. */
  | { readonly type: "unavailable"; readonly message: string };

/** Seals secrets for other places, where they may be opened. */
export interface SecretCarrier {
  /** Never rejects. Starts hands if it must; for nothing to carry it does nothing. */
  carry(moves: readonly SealedMove[], signal: AbortSignal): Promise<CarryOutcome>;
}
