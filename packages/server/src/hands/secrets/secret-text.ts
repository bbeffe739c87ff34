import type { ExternalSecret } from "../../core/ports/external-secrets.ts";
import { Secret } from "../../lib/secret.ts";

/** Of what is read; a secret that an API takes has half of it. */
export const SECRET_BYTES_MAX = 64 * 1024;
/** For one secret, in milliseconds. */
export const READ_MS = 10_000;

/** A text that was read, without the end of its last line. */
export function secretOf(bytes: Uint8Array): ExternalSecret {
  if (bytes.byteLength > SECRET_BYTES_MAX) return unavailable("it is too large for a secret");
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes).replace(/\r?\n$/, "");
  } catch {
    return unavailable("it is no text");
  }
  if (text === "" || text.includes("\0")) return unavailable("it is no secret");
  return { type: "secret", secret: new Secret(text) };
}

export function unavailable(message: string): ExternalSecret {
  return { type: "unavailable", message };
}

/** Whether it is one step down, whoever made it up. */
export function isPlainPart(part: string): boolean {
  return /^[A-Za-z0-9_-][\w.-]*$/.test(part);
}
