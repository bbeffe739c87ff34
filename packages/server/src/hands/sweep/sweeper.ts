import type { MaskStream, SecretMask } from "../../lib/secret-mask.ts";
import type { KnownSecrets } from "./known-secrets.ts";

/** Masks the known secrets in what comes in pieces, also those that come up meanwhile. See `MaskStream`. */
export class Sweeper {
  readonly #known: KnownSecrets;
  #mask: SecretMask;
  #stream: MaskStream;

  constructor(known: KnownSecrets) {
    this.#known = known;
    this.#mask = known.mask;
    this.#stream = this.#mask.stream();
  }

  push(piece: Uint8Array): Buffer {
    const { mask } = this.#known;
    if (mask === this.#mask) return this.#stream.push(piece);
    const held = this.#stream.end();
    this.#mask = mask;
    this.#stream = mask.stream();
    return this.#stream.push(Buffer.concat([held, piece]));
  }

  get isHolding(): boolean {
    return this.#stream.isHolding;
  }

  release(): Buffer {
    return this.#stream.release();
  }

  end(): Buffer {
    return this.#stream.end();
  }
}
