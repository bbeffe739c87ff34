import { randomUUID } from "node:crypto";
import type { BlobRef, Blobs } from "../../core/ports/blobs.ts";
import type { Sandbox } from "../../core/ports/sandbox.ts";

/** Bytes of the archive; what is larger is not kept. */
const CHECKPOINT_BYTES_MAX = 512 * 1024 * 1024;

const ARCHIVE_MS = 120_000;
const ARCHIVE_BYTES_MIN = 1024;
/** What one request to the agent gives. */
const CHUNK_BYTES = 256 * 1024;
const CHUNKS_AHEAD = 16;
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
  // Some are asked for ahead: one after the other, each waits for its turn on a busy machine.
  const ahead: Promise<Uint8Array>[] = [];
  for (let asked = 0; asked < size || ahead.length > 0; ) {
    signal.throwIfAborted();
    for (; asked < size && ahead.length < CHUNKS_AHEAD; asked += CHUNK_BYTES) {
      const limit = Math.min(CHUNK_BYTES, size - asked);
      const chunk = readWhole(sandbox, path, { offset: asked, limit });
      // Awaited below, unless an earlier one rejects.
      chunk.catch(() => undefined);
      ahead.push(chunk);
    }
    const next = await ahead.shift();
    if (next !== undefined) yield next;
  }
}

/** What the inside answers is not trusted: it may be less, or more, than there was. */
async function readWhole(
  sandbox: Sandbox,
  path: string,
  range: { offset: number; limit: number },
): Promise<Uint8Array> {
  const { bytes } = await sandbox.read(path, range);
  if (bytes.byteLength === range.limit) return bytes;
  throw new CheckpointError("the files changed while they were read");
}
