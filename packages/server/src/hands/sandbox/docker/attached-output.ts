import { type Duplex, Readable } from "node:stream";

const HEADER_BYTES = 8;
const STDERR = 2;
const MESSAGE_BYTES_MAX = 4096;

/**
 * What a container writes, taken out of the engine's stream: frames of one byte (1 stdout, 2 stderr), three
 * zeros, uint32 length and content. Readable is stdout; the end of stderr is kept.
 */
export class AttachedOutput extends Readable {
  readonly #stream: Duplex;
  #header = Buffer.alloc(0);
  #isError = false;
  #left = 0;
  #message = "";

  constructor(stream: Duplex) {
    super();
    this.#stream = stream;
    stream.on("data", (chunk: Buffer) => {
      if (!this.#take(chunk)) stream.pause();
    });
    stream.on("end", () => this.push(null));
    // Whoever reads this is told by its end: a connection that broke is a sandbox that is gone.
    stream.on("error", () => this.push(null));
    stream.on("close", () => {
      if (!this.readableEnded) this.push(null);
    });
    stream.pause();
  }

  /** The last of what went to stderr. */
  get message(): string {
    return this.#message;
  }

  override _read(): void {
    this.#stream.resume();
  }

  /** False if enough is waiting to be read. */
  #take(chunk: Buffer): boolean {
    let hasRoom = true;
    for (let rest = chunk; rest.byteLength > 0; ) {
      if (this.#left === 0) {
        rest = this.#takeHeader(rest);
        continue;
      }
      const part = rest.subarray(0, this.#left);
      this.#left -= part.byteLength;
      rest = rest.subarray(part.byteLength);
      if (this.#isError) {
        this.#message = (this.#message + part.toString("latin1")).slice(-MESSAGE_BYTES_MAX);
      } else {
        hasRoom = this.push(part);
      }
    }
    return hasRoom;
  }

  #takeHeader(bytes: Buffer): Buffer {
    const missing = HEADER_BYTES - this.#header.byteLength;
    const header = Buffer.concat([this.#header, bytes.subarray(0, missing)]);
    this.#header = header;
    if (header.byteLength === HEADER_BYTES) {
      this.#isError = header[0] === STDERR;
      this.#left = header.readUInt32BE(4);
      this.#header = Buffer.alloc(0);
    }
    return bytes.subarray(missing);
  }
}
