import { createHmac, randomBytes } from "node:crypto";
import type { Secret } from "../lib/secret.ts";

export const KEY_BYTES = 32;
/** Hex digits of a key's id. It tells keys apart; it proves nothing. */
const ID_DIGITS = 16;

/** A key that seals the keys of single secrets. */
export interface EncryptionKey {
  /** Follows from the key, and says nothing of it. */
  readonly id: string;
  readonly bytes: Buffer;
}

export function newEncryptionKey(): EncryptionKey {
  return keyOf(randomBytes(KEY_BYTES));
}

/** Undefined unless the text is 32 bytes in base64, exactly as this writes them. */
export function readEncryptionKey(text: Secret): EncryptionKey | undefined {
  const bytes = Buffer.from(text.reveal(), "base64");
  const isWhole = bytes.byteLength === KEY_BYTES && bytes.toString("base64") === text.reveal();
  return isWhole ? keyOf(bytes) : undefined;
}

function keyOf(bytes: Buffer): EncryptionKey {
  const id = createHmac("sha256", bytes).update("drover.encryption-key.1").digest("hex");
  return { id: id.slice(0, ID_DIGITS), bytes };
}
