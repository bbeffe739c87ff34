/** Room for 100,000 characters of four bytes, so that a short text is never cut. */
const END_BYTES = 400_000;

/** The beginning and the end of an output of any length. */
export class OutputEnds {
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #lostBytes = 0;

  append(chunk: Uint8Array): void {
    const bytes = Buffer.from(chunk);
    const forHead = bytes.subarray(0, END_BYTES - this.#headBytes);
    const forTail = bytes.subarray(forHead.byteLength);
    if (forHead.byteLength > 0) this.#head.push(forHead);
    this.#headBytes += forHead.byteLength;
    if (forTail.byteLength === 0) return;
    this.#tail.push(forTail);
    this.#tailBytes += forTail.byteLength;
    // Joined now and then only, not for each chunk.
    if (this.#tailBytes <= 2 * END_BYTES) return;
    const joined = Buffer.concat(this.#tail);
    this.#tail = [Buffer.from(joined.subarray(-END_BYTES))];
    this.#lostBytes += joined.byteLength - END_BYTES;
    this.#tailBytes = END_BYTES;
  }

  /** All of it, or undefined if something was lost. */
  whole(): Buffer | undefined {
    if (this.#lostBytes > 0) return undefined;
    return Buffer.concat([...this.#head, ...this.#tail]);
  }

  head(): Buffer {
    return Buffer.concat(this.#head);
  }

  /** Overlaps the head if the whole is short. */
  tail(): Buffer {
    const tail = Buffer.concat(this.#tail);
    return tail.byteLength >= END_BYTES ? tail : Buffer.concat([...this.#head, tail]);
  }
}
