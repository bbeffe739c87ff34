import { randomBytes } from "node:crypto";

/** Without look-alikes, so that an id survives being read aloud. */
const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/** 22 characters of 58 are 128 bits and a little: unguessable and never drawn twice. */
const LENGTH = 22;
/** The largest multiple of 58 in a byte: bytes above it would favour the alphabet's start. */
const BYTE_LIMIT = 232;

/** A new id such as `sevt_8fJ…`: the prefix, an underscore and 22 random characters. */
export function newId(prefix: string): string {
  let id = `${prefix}_`;
  const length = id.length + LENGTH;
  while (id.length < length) {
    for (const byte of randomBytes(LENGTH)) {
      if (byte < BYTE_LIMIT && id.length < length) id += ALPHABET[byte % ALPHABET.length];
    }
  }
  return id;
}
