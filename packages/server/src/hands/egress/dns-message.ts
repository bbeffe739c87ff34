/** A question that a program asked of its name server. */
export interface DnsQuestion {
  /** As it was asked, without a final dot. */
  readonly name: string;
  /** 1 is A. */
  readonly type: number;
  /** Bytes of header and question, which go back with the answer. */
  readonly bytes: Buffer;
}

export type DnsAnswer =
  /** Only for questions of type A. */
  | { readonly type: "address"; readonly address: string }
  /** The name is there and has nothing of the type that was asked for. */
  | { readonly type: "nothing" }
  | { readonly type: "refused" };

export const TYPE_A = 1;

const HEADER_BYTES = 12;
const NAME_BYTES_MAX = 255;
const LABEL_BYTES_MAX = 63;
const CLASS_IN = 1;
const TTL_SECONDS = 60;
const FLAGS = { response: 0x8000, recursionDesired: 0x0100, recursionAvailable: 0x0080 } as const;
const OPCODE_MASK = 0x7800;
const RCODE_REFUSED = 5;
/** A label points back at the name of the question. */
const NAME_OF_QUESTION = 0xc00c;

/**
 * Reads a packet that holds one plain question; undefined for everything else, which gets no answer. Any
 * bytes are a valid argument: what sends them is a program in a sandbox.
 */
export function readQuestion(packet: Buffer): DnsQuestion | undefined {
  if (packet.length < HEADER_BYTES) return undefined;
  const flags = packet.readUInt16BE(2);
  const isQuery = (flags & (FLAGS.response | OPCODE_MASK)) === 0;
  if (!isQuery || packet.readUInt16BE(4) !== 1) return undefined;
  const labels = readLabels(packet);
  // A dot within a label would make two names look alike.
  if (labels === undefined || labels.length === 0 || labels.some((label) => label.includes("."))) {
    return undefined;
  }
  const at = labels.reduce((end, label) => end + 1 + label.length, HEADER_BYTES) + 1;
  if (at + 4 > packet.length || packet.readUInt16BE(at + 2) !== CLASS_IN) return undefined;
  const type = packet.readUInt16BE(at);
  return { name: labels.join("."), type, bytes: packet.subarray(0, at + 4) };
}

/** A character a byte. Undefined for a name that is cut off or too long. */
function readLabels(packet: Buffer): string[] | undefined {
  const labels: string[] = [];
  for (let at = HEADER_BYTES; at < HEADER_BYTES + NAME_BYTES_MAX; ) {
    const length = packet[at];
    if (length === 0) return labels;
    // A compressed name has nothing before it that it could point at.
    if (length === undefined || length > LABEL_BYTES_MAX) return undefined;
    const end = at + 1 + length;
    if (end > packet.length) return undefined;
    labels.push(packet.toString("latin1", at + 1, end));
    at = end;
  }
  return undefined;
}

export function dnsResponse({ bytes }: DnsQuestion, answer: DnsAnswer): Buffer {
  const head = Buffer.from(bytes);
  const desired = head.readUInt16BE(2) & FLAGS.recursionDesired;
  const code = answer.type === "refused" ? RCODE_REFUSED : 0;
  head.writeUInt16BE(FLAGS.response | FLAGS.recursionAvailable | desired | code, 2);
  head.writeUInt16BE(answer.type === "address" ? 1 : 0, 6);
  // Nothing of what may have followed the question goes back.
  head.writeUInt32BE(0, 8);
  if (answer.type !== "address") return head;
  const record = Buffer.alloc(16);
  record.writeUInt16BE(NAME_OF_QUESTION, 0);
  record.writeUInt16BE(TYPE_A, 2);
  record.writeUInt16BE(CLASS_IN, 4);
  record.writeUInt32BE(TTL_SECONDS, 6);
  record.writeUInt16BE(4, 10);
  for (const [index, part] of answer.address.split(".").entries()) {
    record.writeUInt8(Number(part), 12 + index);
  }
  return Buffer.concat([head, record]);
}
