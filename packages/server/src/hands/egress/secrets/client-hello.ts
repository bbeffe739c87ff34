/** Bytes of a TLS record before its content, of which the last two are its length. */
export const RECORD_HEAD_BYTES = 5;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const HOST_NAME = 0;
const VERSION_AND_RANDOM_BYTES = 34;

/**
 * The server that a TLS client names in its first record; undefined if it names none, or what it sent is no such
 * record.
 */
export function serverNameOf(record: Uint8Array): string | undefined {
  const reader = new Reader(Buffer.from(record.subarray(RECORD_HEAD_BYTES)));
  if (reader.number(1) !== CLIENT_HELLO) return undefined;
  const hello = new Reader(reader.vector(3));
  hello.skip(VERSION_AND_RANDOM_BYTES);
  hello.vector(1);
  hello.vector(2);
  hello.vector(1);
  const extensions = new Reader(hello.vector(2));
  while (extensions.left > 0) {
    const type = extensions.number(2);
    const content = extensions.vector(2);
    if (type !== SERVER_NAME) continue;
    const names = new Reader(new Reader(content).vector(2));
    return names.number(1) === HOST_NAME ? names.vector(2).toString("latin1") : undefined;
  }
  return undefined;
}

/** Reads on, and finds nothing where there is nothing. */
class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get left(): number {
    return Math.max(0, this.#bytes.length - this.#at);
  }

  skip(bytes: number): void {
    this.#at += bytes;
  }

  number(bytes: number): number {
    const value = this.left < bytes ? 0 : this.#bytes.readUIntBE(this.#at, bytes);
    this.#at += bytes;
    return value;
  }

  /** With its length before it, in so many bytes. */
  vector(lengthBytes: number): Buffer {
    const length = this.number(lengthBytes);
    const value = this.#bytes.subarray(this.#at, this.#at + length);
    this.#at += length;
    return value;
  }
}
