const OFFSET = 0xcbf29ce484222325n;
const PRIME = 0x100000001b3n;
const MASK = (1n << 64n) - 1n;

/**
 * FNV-1a over the text's UTF-8 bytes, as 13 small letters and digits. The same on every machine and in every
 * version; whoever wants to finds two texts of one hash, so nothing may rest on that there are none.
 */
export function shortHash(text: string): string {
  let hash = OFFSET;
  for (const byte of new TextEncoder().encode(text)) hash = ((hash ^ BigInt(byte)) * PRIME) & MASK;
  return hash.toString(36).padStart(13, "0");
}
