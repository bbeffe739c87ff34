import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";

const KEY_BYTES = 32;

/** A random key of 32 bytes that stays the same from start to start, kept with mode 0600. */
export async function keyFromFile(path: string): Promise<Uint8Array> {
  try {
    await writeFile(path, randomBytes(KEY_BYTES), { flag: "wx", mode: 0o600, flush: true });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
  const key = await readFile(path);
  if (key.byteLength !== KEY_BYTES) {
    throw new Error(
      `${path} does not hold a key of ${KEY_BYTES} bytes; delete it to have a new one`,
    );
  }
  return key;
}
