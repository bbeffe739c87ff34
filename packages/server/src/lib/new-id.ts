import { createHash, randomFillSync } from "node:crypto";

/** Without look-alikes, so that an id survives being read aloud; ascending, as text is compared. */
const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const BASE = ALPHABET.length;
/** 58^8 milliseconds last until the year 6028. */
const TIME_LENGTH = 8;
/** 14 characters of 58 are 82 bits: unguessable, and never drawn twice within a millisecond. */
const RANDOM_LENGTH = 14;
/** The largest multiple of 58 in a byte: bytes above it would favour the alphabet's start. */
const BYTE_LIMIT = 232;

/** Random bytes come by the page: asking for a few costs as much as asking for many. */
const pool = new Uint8Array(4096);
let used = pool.length;

let encoded = { atMs: -1, text: "" };

/**
 * A new id such as `sevt_1Xy4…`: the prefix, an underscore and 22 characters. The first 8 are the
 * time in milliseconds, so that ids made one after the other lie beside each other in an index:
 * spread over it, each of them rewrites a page of its own. Their order promises nothing.
 */
export function newId(prefix: string): string {
  let id = `${prefix}_${timeText(Date.now())}`;
  const length = id.length + RANDOM_LENGTH;
  while (id.length < length) {
    const byte = randomByte();
    if (byte < BYTE_LIMIT) id += ALPHABET[byte % BASE];
  }
  return id;
}

/**
 * The id that stands for `id` in a copy of what it belongs to: its prefix and time, so that the copies of
 * ids that were made one after the other lie beside each other too, and what it and `copyId`, an id of the
 * copy's own, hash to. Always the same one, and never another's.
 */
export function derivedId(id: string, copyId: string): string {
  const [prefix = "", rest = ""] = id.split("_", 2);
  const digest = createHash("sha256").update(`${copyId} ${id}`).digest();
  let text = `${prefix}_${rest.slice(0, TIME_LENGTH)}`;
  for (const byte of digest.subarray(0, RANDOM_LENGTH)) text += ALPHABET[byte % BASE];
  return text;
}

function timeText(atMs: number): string {
  if (encoded.atMs === atMs) return encoded.text;
  let text = "";
  let rest = atMs;
  for (let place = 0; place < TIME_LENGTH; place += 1) {
    text = `${ALPHABET[rest % BASE]}${text}`;
    rest = Math.floor(rest / BASE);
  }
  encoded = { atMs, text };
  return text;
}

function randomByte(): number {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const byte = pool[used] ?? BYTE_LIMIT;
  // What was given out is nowhere else than in the id.
  pool[used] = 0;
  used += 1;
  return byte;
}
