import { randomUUID } from "node:crypto";
import type { BlobRef, Blobs } from "../../core/ports/blobs.ts";
import type { Sandbox } from "../../core/ports/sandbox.ts";

/** Bytes of the archive; what is larger is not kept. */
const CHECKPOINT_BYTES_MAX = 512 * 1024 * 1024;

const ARCHIVE_MS = 120_000;
const ARCHIVE_BYTES_MIN = 1024;
const CHUNK_BYTES = 1024 * 1024;
/** On disk, unlike `/tmp`, and no part of what is kept. */
const SPILL_FOLDER = "/mnt/session/.spill";

/**
 * Writes an archive, cut off behind the bound. A file that cannot be read is left out, as is one that
 * vanishes; one that changes meanwhile is there in some state.
 */
const ARCHIVE = `rm -rf -- "$2"; tar --create --file - --directory / --ignore-failed-read --sparse \
  --warning=no-file-changed --warning=no-file-ignored workspace mnt/session/outputs \
  | head --bytes "$1" > "$2"`;

/** A hand's folders are more than a checkpoint may have, or cannot be read. */
export class CheckpointError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "CheckpointError";
  }
}

interface TakeOptions {
  readonly blobs: Pick<Blobs, "put">;
  readonly workspaceId: string;
  readonly bytesMax?: number | undefined;
  /** Where the archive is made, inside; a place of its own unless given. */
  readonly path?: string;
}

/**
 * Puts the sandbox's folders into the blob store, in an archive that is made inside it: the host follows
 * no path in there. Rejects with `CheckpointError`, or with what the sandbox or the store reject with.
 */
export async function takeCheckpoint(
  sandbox: Sandbox,
  options: TakeOptions,
  signal: AbortSignal,
): Promise<BlobRef> {
  const { blobs, workspaceId, bytesMax = CHECKPOINT_BYTES_MAX } = options;
  const { path = `${SPILL_FOLDER}/checkpoint-${randomUUID()}.tar` } = options;
  try {
    const argv = ["/bin/sh", "-c", ARCHIVE, "sh", String(bytesMax + 1), path];
    const { ended, exitCode } = await sandbox.run(
      { argv, timeoutMs: ARCHIVE_MS, stdoutBytesMax: 1024 },
      signal,
    );
    signal.throwIfAborted();
    if (ended === "timeout") throw new CheckpointError("the files took too long to be read");
    if (ended !== "exited" || exitCode !== 0) {
      throw new CheckpointError("the files could not be read");
    }
    return await blobs.put(workspaceId, contentOf(sandbox, { path, bytesMax }, signal));
  } finally {
    const remove = { argv: ["rm", "-f", path], timeoutMs: ARCHIVE_MS, stdoutBytesMax: 1024 };
    // A sandbox that is gone took its spill folder's use along; what is left there is overwritten by nobody.
    await sandbox.run(remove, new AbortController().signal).catch(() => undefined);
  }
}

async function* contentOf(
  sandbox: Sandbox,
  { path, bytesMax }: { path: string; bytesMax: number },
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const size = (await sandbox.stat(path))?.size_bytes ?? 0;
  // An archive of nothing is longer: its program did not even begin.
  if (size < ARCHIVE_BYTES_MIN) throw new CheckpointError("the files could not be read");
  if (size > bytesMax) {
    throw new CheckpointError(`its files come to more than ${bytesMax} bytes`);
  }
  for (let offset = 0; offset < size; ) {
    signal.throwIfAborted();
    const limit = Math.min(CHUNK_BYTES, size - offset);
    const { bytes } = await sandbox.read(path, { offset, limit });
    // What the inside answers is not trusted: an empty or oversized answer would never end.
    if (bytes.byteLength === 0 || bytes.byteLength > limit) {
      throw new CheckpointError("the files changed while they were read");
    }
    offset += bytes.byteLength;
    yield bytes;
  }
}
