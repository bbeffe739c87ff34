import type { FileStat, Sandbox } from "../../core/ports/sandbox.ts";

export const OUTPUTS_FOLDER = "/mnt/session/outputs";

const CHUNK_BYTES = 1024 * 1024;

/**
 * The file's bytes as of its `version`. Throws at the end if it was written meanwhile, so that the
 * store never shows a mixture of two states.
 */
export async function* contentOf(
  sandbox: Sandbox,
  file: FileStat,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let offset = 0;
  while (offset < file.size_bytes) {
    signal.throwIfAborted();
    const limit = Math.min(CHUNK_BYTES, file.size_bytes - offset);
    const { bytes } = await sandbox.read(file.path, { offset, limit });
    // What the inside answers is not trusted: an empty or oversized answer would never end.
    if (bytes.byteLength === 0 || bytes.byteLength > limit) throw changed(file);
    offset += bytes.byteLength;
    yield bytes;
  }
  const after = await sandbox.stat(file.path);
  if (after?.version !== file.version) throw changed(file);
}

/** Relative to the folder. */
export function pathBelow({ path }: FileStat): string {
  return path.slice(OUTPUTS_FOLDER.length + 1);
}

function changed(file: FileStat): Error {
  return new Error(`${file.path} changed while it was read`);
}

/** Below the folder, normalised, and text that can be shown: the inside may answer anything. */
export function isPlainPath(path: string): boolean {
  if (!path.startsWith(`${OUTPUTS_FOLDER}/`) || !path.isWellFormed()) return false;
  if (/\p{Cc}/u.test(path)) return false;
  const segments = path.slice(OUTPUTS_FOLDER.length + 1).split("/");
  return segments.every((segment) => !["", ".", ".."].includes(segment));
}
