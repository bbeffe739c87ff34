/** Bytes that may be kept of one body, and of all bodies at a time. */
export interface BufferLimits {
  readonly oneMax: number;
  readonly allMax: number;
}

/** What may be kept in memory of bodies whose new length is to be known before they are sent. */
export class BufferAllowance {
  readonly #limits: BufferLimits;
  #taken = 0;

  constructor(limits: BufferLimits) {
    this.#limits = limits;
  }

  /** False where it must be sent as it comes. */
  take(bytes: number): boolean {
    const { oneMax, allMax } = this.#limits;
    if (bytes > oneMax || this.#taken + bytes > allMax) return false;
    this.#taken += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#taken -= bytes;
  }
}
