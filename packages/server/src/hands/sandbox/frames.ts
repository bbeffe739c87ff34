/** The framing between a host and the agent in a sandbox; `agent/agent.pl` has the protocol. */

export interface Frame {
  readonly id: number;
  /** One letter. */
  readonly op: string;
  readonly fields: readonly Buffer[];
}

export type Field = string | number | Uint8Array;

/** The agent accepts 2 MiB and sends less than this; anything longer is not the agent's. */
const FRAME_BYTES_MAX = 4 * 1024 * 1024;
const LENGTH_BYTES = 4;
const HEADER_BYTES = 5;

export function encodeFrame(id: number, op: string, fields: readonly Field[]): Buffer {
  const parts: Buffer[] = [];
  for (const field of fields) {
    const bytes = typeof field === "object" ? Buffer.from(field) : Buffer.from(String(field));
    parts.push(uint32(bytes.byteLength), bytes);
  }
  const body = Buffer.concat([uint32(id), Buffer.from(op, "latin1"), ...parts]);
  return Buffer.concat([uint32(body.byteLength), body]);
}

/** Cuts a byte stream into frames. What it is given comes from inside a sandbox: anything may. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #bytes = 0;
  #needed = LENGTH_BYTES;

  /** The frames that are complete now. Throws for what cannot be a frame; it is not to be used after. */
  push(chunk: Buffer): Frame[] {
    this.#chunks.push(chunk);
    this.#bytes += chunk.byteLength;
    if (this.#bytes < this.#needed) return [];
    let rest = Buffer.concat(this.#chunks, this.#bytes);
    const frames: Frame[] = [];
    this.#needed = LENGTH_BYTES;
    while (rest.byteLength >= LENGTH_BYTES) {
      const length = rest.readUInt32BE(0);
      if (length < HEADER_BYTES || length > FRAME_BYTES_MAX) {
        throw new Error(`the agent sent a frame of ${length} bytes`);
      }
      this.#needed = LENGTH_BYTES + length;
      if (rest.byteLength < this.#needed) break;
      frames.push(decodeBody(rest.subarray(LENGTH_BYTES, this.#needed)));
      rest = rest.subarray(this.#needed);
      this.#needed = LENGTH_BYTES;
    }
    this.#chunks = rest.byteLength > 0 ? [rest] : [];
    this.#bytes = rest.byteLength;
    return frames;
  }
}

function decodeBody(body: Buffer): Frame {
  const fields: Buffer[] = [];
  let at = HEADER_BYTES;
  while (at < body.byteLength) {
    if (at + LENGTH_BYTES > body.byteLength) throw new Error("the agent sent a cut frame");
    const start = at + LENGTH_BYTES;
    const end = start + body.readUInt32BE(at);
    if (end > body.byteLength) throw new Error("the agent sent a cut frame");
    fields.push(body.subarray(start, end));
    at = end;
  }
  return { id: body.readUInt32BE(0), op: body.toString("latin1", 4, HEADER_BYTES), fields };
}

function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
