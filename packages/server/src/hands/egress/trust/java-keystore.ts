import { createHash } from "node:crypto";

const MAGIC = 0xfeedfeed;
const VERSION = 2;
const TRUSTED_CERTIFICATE = 2;
/** Of the format, and no secret: the store holds nothing but public certificates. */
export const KEYSTORE_PASSWORD = "changeit";
const DIGESTED_PHRASE = "Mighty Aphrodite";

/** Certificates, as DER, in the format in which every Java has read trust stores since its second version. */
export function javaKeystore(certificates: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(12);
  head.writeUInt32BE(MAGIC, 0);
  head.writeUInt32BE(VERSION, 4);
  head.writeUInt32BE(certificates.length, 8);
  const entries = certificates.map((certificate, index) => {
    return Buffer.concat([
      uint32(TRUSTED_CERTIFICATE),
      text(`authority-${index}`),
      // The time at which it came in, which nobody asks for.
      Buffer.alloc(8),
      text("X.509"),
      uint32(certificate.length),
      certificate,
    ]);
  });
  const store = Buffer.concat([head, ...entries]);
  const digest = createHash("sha1")
    .update(Buffer.from(KEYSTORE_PASSWORD, "utf16le").swap16())
    .update(DIGESTED_PHRASE, "utf8")
    .update(store)
    .digest();
  return Buffer.concat([store, digest]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** Its length in two bytes, then itself. */
function text(value: string): Buffer {
  const bytes = Buffer.from(value, "latin1");
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
