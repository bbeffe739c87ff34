import { open } from "node:fs/promises";
import { type Archive, ArchiveError, type ArchiveLimits } from "./archive.ts";
import { openTar } from "./tar-archive.ts";
import { openZip } from "./zip-archive.ts";

/** Up to where a tar file says that it is one. */
const HEAD_BYTES = 262;

/**
 * Opens a zip, tar or tar.gz file by what it begins with, whatever it is called. Nothing is unpacked;
 * the file must not change. Rejects with `ArchiveError`.
 */
export async function openArchive(path: string, limits: ArchiveLimits): Promise<Archive> {
  const head = await headOf(path);
  const begins = (signature: string) => head.startsWith(signature);
  // An archive without members begins with its end.
  if (begins("PK\x03\x04") || begins("PK\x05\x06")) return await openZip(path, limits);
  const isGzipped = begins("\x1f\x8b");
  if (isGzipped || head.slice(257) === "ustar") return await openTar({ path, isGzipped, limits });
  throw new ArchiveError("is no zip, tar or tar.gz archive");
}

/** One character a byte. */
async function headOf(path: string): Promise<string> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.toString("latin1", 0, bytesRead);
  } finally {
    await file.close();
  }
}
