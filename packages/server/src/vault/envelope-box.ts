import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { RotatingSecretBox } from "../core/ports/secret-box.ts";
import { Secret } from "../lib/secret.ts";
import { type EncryptionKey, KEY_BYTES } from "./encryption-key.ts";

/** The keys of an installation; never without one. */
export interface KeyRing {
  /** The first seals, all open. Looks for keys that came since, and all the more for `wantedId`. */
  keys(wantedId?: string): readonly [EncryptionKey, ...EncryptionKey[]];
}

const VERSION = "v1";
const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * A box of envelopes: `v1.<key id>.<sealed data key>.<sealed secret>`, the sealed parts as base64url of
 * nonce, ciphertext and tag. Each secret has a random key of its own, bound to its place; that key alone
 * is sealed under a key of the ring, so that a new key of the ring rewrites only the envelope.
 */
export function createEnvelopeBox(ring: KeyRing): RotatingSecretBox {
  const enveloped = (dataKey: Buffer): string => {
    const [{ id, bytes }] = ring.keys();
    return `${VERSION}.${id}.${encrypt(bytes, dataKey, placeOfKey(id))}`;
  };
  const openEnvelope = (sealed: string): { dataKey: Buffer; keyId: string; content: string } => {
    const [version, keyId = "", envelope = "", content = "", ...rest] = sealed.split(".");
    const key = ring.keys(keyId).find(({ id }) => id === keyId);
    if (version !== VERSION || rest.length > 0 || key === undefined) throw unopenable();
    return { dataKey: decrypt(key.bytes, envelope, placeOfKey(keyId)), keyId, content };
  };
  return {
    seal: (plain, binding) => {
      const dataKey = randomBytes(KEY_BYTES);
      const content = encrypt(dataKey, Buffer.from(plain.reveal()), placeOfSecret(binding));
      return `${enveloped(dataKey)}.${content}`;
    },
    open: (sealed, binding) => {
      const { dataKey, content } = openEnvelope(sealed);
      return new Secret(decrypt(dataKey, content, placeOfSecret(binding)).toString());
    },
    renew: (sealed) => {
      const { dataKey, keyId, content } = openEnvelope(sealed);
      return keyId === ring.keys()[0].id ? sealed : `${enveloped(dataKey)}.${content}`;
    },
    currentKeyId: () => ring.keys()[0].id,
    keyIds: () => ring.keys().map(({ id }) => id),
  };
}

/** Authenticated with what is sealed, so that one kind cannot stand for another. */
function placeOfKey(keyId: string): string {
  return `drover.data-key.1\0${keyId}`;
}

function placeOfSecret(binding: string): string {
  return `drover.secret.1\0${binding}`;
}

function encrypt(key: Buffer, plain: Buffer, place: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(place));
  const sealed = [nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat(sealed).toString("base64url");
}

function decrypt(key: Buffer, text: string, place: string): Buffer {
  const bytes = Buffer.from(text, "base64url");
  // Text that base64url would not write is refused, so that there is one sealed form of each secret.
  if (bytes.byteLength < NONCE_BYTES + TAG_BYTES || bytes.toString("base64url") !== text) {
    throw unopenable();
  }
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(Buffer.from(place));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([
      decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)),
      decipher.final(),
    ]);
  } catch (error) {
    throw unopenable(error);
  }
}

function unopenable(cause?: unknown): Error {
  return new Error("a stored secret does not open: it was changed, or its key is gone", { cause });
}
