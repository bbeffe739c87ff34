/** 198.18.0.0/15, which no host of the internet has; its first addresses are the sandbox's own. */
const FIRST = 16;
const ADDRESSES = 2 ** 17 - FIRST - 1;
const NAMES_MAX = 4_096;

/** True of an address that only stands for a name, or for the sandbox itself. */
export function isStandIn(address: string): boolean {
  return /^198\.1[89]\./.test(address);
}

/**
 * Gives names addresses within one sandbox, so that a connection to one tells the name that was meant,
 * whatever protocol is spoken. The names that were used longest ago are forgotten.
 */
export class StandInAddresses {
  readonly #byName = new Map<string, string>();
  readonly #byAddress = new Map<string, string>();
  #next = 0;

  addressOf(name: string): string {
    const address = this.#byName.get(name) ?? this.#free();
    // The last one in the map is the one that was used last.
    this.#byName.delete(name);
    this.#byName.set(name, address);
    this.#byAddress.set(address, name);
    this.#forget();
    return address;
  }

  nameOf(address: string): string | undefined {
    const name = this.#byAddress.get(address);
    if (name !== undefined) this.addressOf(name);
    return name;
  }

  /** Not soon one that stood for another name: a program may still have that. */
  #free(): string {
    for (;;) {
      const number = FIRST + (this.#next % ADDRESSES);
      this.#next += 1;
      const address = `198.${18 + (number >> 16)}.${(number >> 8) & 0xff}.${number & 0xff}`;
      if (!this.#byAddress.has(address)) return address;
    }
  }

  #forget(): void {
    if (this.#byName.size <= NAMES_MAX) return;
    const [oldest] = this.#byName;
    if (oldest === undefined) return;
    this.#byName.delete(oldest[0]);
    this.#byAddress.delete(oldest[1]);
  }
}
