import { Transform, type TransformCallback } from "node:stream";
import type { KnownSecrets } from "./known-secrets.ts";
import { Sweeper } from "./sweeper.ts";

/** After so long without anything new, the end of a message is not waited for any longer. */
const PAUSE_MS = 50;

/** Passes bytes on with the known secrets masked. */
export class SweepStream extends Transform {
  readonly #sweeper: Sweeper;
  #timer: NodeJS.Timeout | undefined;

  constructor(known: KnownSecrets) {
    super();
    this.#sweeper = new Sweeper(known);
  }

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    clearTimeout(this.#timer);
    this.#give(this.#sweeper.push(chunk));
    if (this.#sweeper.isHolding) {
      this.#timer = setTimeout(() => this.#give(this.#sweeper.release()), PAUSE_MS);
    }
    done();
  }

  override _flush(done: TransformCallback): void {
    clearTimeout(this.#timer);
    this.#give(this.#sweeper.end());
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
