import { createHmac, timingSafeEqual } from "node:crypto";

/**
 * Signs and verifies the opaque parts of thinking. As with the real API only what the server made
 * itself is accepted back, so a harness that edits, trims or invents thinking is found out.
 */
export class Signer {
  readonly #secret: string;

  constructor(secret: string) {
    this.#secret = secret;
  }

  sign(thinking: string): string {
    return createHmac("sha256", this.#secret).update(thinking, "utf8").digest("base64");
  }

  verifies(thinking: string, signature: string): boolean {
    const expected = Buffer.from(this.sign(thinking));
    const actual = Buffer.from(signature);
    return expected.length === actual.length && timingSafeEqual(expected, actual);
  }

  /** Redacted thinking: a payload and its signature in one string. */
  redact(payload: string): string {
    const encoded = Buffer.from(payload, "utf8").toString("base64url");
    return `${encoded}.${this.sign(`redacted:${encoded}`)}`;
  }

  /** A short mark that stands for some thinking, in its order; part of the ids of tools used after it. */
  mark(thinking: readonly string[]): string {
    const mac = createHmac("sha256", this.#secret).update(JSON.stringify(thinking), "utf8");
    return mac.digest("hex").slice(0, 16);
  }

  verifiesRedacted(data: string): boolean {
    const dot = data.indexOf(".");
    return dot > 0 && this.verifies(`redacted:${data.slice(0, dot)}`, data.slice(dot + 1));
  }
}
