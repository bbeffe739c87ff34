import { Transform, type TransformCallback } from "node:stream";
import type { MaskStream, SecretMask } from "../../lib/secret-mask.ts";
import type { KnownSecrets } from "./known-secrets.ts";

/** After so long without anything new, the end of a message is not waited for any longer. */
const PAUSE_MS = 50;

/** Passes bytes on with the known secrets masked, also those that come up meanwhile. */
export class SweepStream extends Transform {
  readonly #known: KnownSecrets;
  #mask: SecretMask;
  #stream: MaskStream;
  #timer: NodeJS.Timeout | undefined;

  constructor(known: KnownSecrets) {
    super();
    this.#known = known;
    this.#mask = known.mask;
    this.#stream = this.#mask.stream();
  }

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    clearTimeout(this.#timer);
    const { mask } = this.#known;
    if (mask !== this.#mask) {
      this.#give(this.#stream.end());
      this.#mask = mask;
      this.#stream = mask.stream();
    }
    this.#give(this.#stream.push(chunk));
    if (this.#stream.isHolding) {
      this.#timer = setTimeout(() => this.#give(this.#stream.release()), PAUSE_MS);
    }
    done();
  }

  override _flush(done: TransformCallback): void {
    clearTimeout(this.#timer);
    this.#give(this.#stream.end());
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.#timer);
    done(error);
  }

  #give(bytes: Buffer): void {
    if (bytes.length > 0) this.push(bytes);
  }
}
