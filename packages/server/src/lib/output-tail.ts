/**
 * The newest bytes of a stream, by their offsets in the whole of it. Memory never exceeds
 * `capacityBytes` by more than one chunk.
 */
export class OutputTail {
  readonly #capacityBytes: number;
  #chunks: Uint8Array[] = [];
  #heldBytes = 0;
  #totalBytes = 0;

  constructor(capacityBytes: number) {
    this.#capacityBytes = capacityBytes;
  }

  append(chunk: Uint8Array): void {
    this.#totalBytes += chunk.byteLength;
    // A copy, also of a Buffer, whose `slice` is only a view: the caller may use the chunk again.
    const kept = new Uint8Array(chunk.subarray(-this.#capacityBytes));
    this.#chunks.push(kept);
    this.#heldBytes += kept.byteLength;
    while (this.#heldBytes - (this.#chunks[0]?.byteLength ?? 0) >= this.#capacityBytes) {
      this.#heldBytes -= this.#chunks.shift()?.byteLength ?? 0;
    }
  }

  /**
   * What is held from offset `from` on, at most `limit` bytes. `start` is the offset of the first
   * byte given: greater than `from` when older bytes are gone already.
   */
  read(from: number, limit: number): { bytes: Uint8Array; start: number; total: number } {
    const held = Buffer.concat(this.#chunks);
    const heldFrom = this.#totalBytes - held.byteLength;
    const start = Math.min(Math.max(from, heldFrom), this.#totalBytes);
    const bytes = held.subarray(start - heldFrom, start - heldFrom + limit);
    return { bytes, start, total: this.#totalBytes };
  }
}
