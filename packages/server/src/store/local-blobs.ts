import { createHash, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import {
  access,
  type FileHandle,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  stat,
  utimes,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { StoreUnavailableError } from "../core/errors.ts";
import type { BlobRef, Blobs, StoredBlob } from "../core/ports/blobs.ts";
import { isNoRoom } from "../lib/no-room.ts";
import { blobPath, isSha256, isWorkspaceId } from "./blob-path.ts";

/** Milliseconds after which a half-written file cannot belong to a living `put`. */
const LEFTOVER_AGE_MS = 24 * 60 * 60 * 1000;

/**
 * Blobs as files below one folder of mode 0700. The files themselves can be read by anybody who gets
 * to see them, so that a sandbox can be shown one read-only under its own user id.
 */
export class LocalBlobs implements Blobs {
  readonly #root: string;
  readonly #drafts: string;

  private constructor(root: string) {
    this.#root = root;
    // A workspace's id has no dot, so this is nobody's folder.
    this.#drafts = join(root, ".drafts");
  }

  /** Makes the folder if it is not there. Several processes may use one folder. */
  static async open(root: string): Promise<LocalBlobs> {
    const blobs = new LocalBlobs(root);
    await mkdir(blobs.#drafts, { recursive: true, mode: 0o700 });
    await blobs.#removeLeftovers();
    return blobs;
  }

  async put(workspaceId: string, content: AsyncIterable<Uint8Array>): Promise<BlobRef> {
    const draft = join(this.#drafts, randomUUID());
    try {
      const ref = await writeDraft(draft, content);
      await this.#publish(draft, blobPath(this.#root, workspaceId, ref.sha256));
      return ref;
    } catch (error) {
      throw isNoRoom(error)
        ? new StoreUnavailableError(
            "The disk that holds the files cannot be written: make room, and storing goes on.",
            { cause: error },
          )
        : error;
    } finally {
      await rm(draft, { force: true });
    }
  }

  async get(
    workspaceId: string,
    sha256: string,
    range?: { start: number; end: number },
  ): Promise<AsyncIterable<Uint8Array> | undefined> {
    if (!isSha256(sha256)) return undefined;
    const path = blobPath(this.#root, workspaceId, sha256);
    if (!(await exists(path))) return undefined;
    return read(path, range);
  }

  async delete(
    workspaceId: string,
    sha256: string,
    { putBefore = Number.POSITIVE_INFINITY }: { putBefore?: number } = {},
  ): Promise<void> {
    if (!isSha256(sha256)) return;
    const path = blobPath(this.#root, workspaceId, sha256);
    const isOld = async (file: string) =>
      ((await modifiedMs(file)) ?? Number.POSITIVE_INFINITY) < putBefore;
    if (!(await isOld(path))) return;
    // Looked at again where no `put` can reach it: one may have come between the look and the move.
    const leaving = join(this.#drafts, randomUUID());
    if (!(await isMoved(path, leaving))) return;
    if (await isOld(leaving)) await rm(leaving, { force: true });
    else await rename(leaving, path);
  }

  async *list(putBefore: number): AsyncGenerator<StoredBlob> {
    for (const entry of await readdir(this.#root, { withFileTypes: true })) {
      const workspaceId = entry.name;
      if (!entry.isDirectory() || !isWorkspaceId(workspaceId)) continue;
      for await (const sha256 of namesBelow(join(this.#root, workspaceId), 3)) {
        if (!isSha256(sha256)) continue;
        const putAt = await modifiedMs(blobPath(this.#root, workspaceId, sha256));
        if (putAt !== undefined && putAt < putBefore) yield { workspaceId, sha256 };
      }
    }
  }

  async #publish(draft: string, path: string): Promise<void> {
    const folder = dirname(path);
    await this.#makeFolder(folder);
    // The same name means the same content. Only its time changes, which keeps it from being deleted.
    if (!(await isTouched(path))) await rename(draft, path);
    // Also if it was there: whoever put it may have died before this.
    await syncFolder(folder);
  }

  /** A new folder lasts only when the one above it is on disk too. */
  async #makeFolder(folder: string): Promise<void> {
    const first = await mkdir(folder, { recursive: true, mode: 0o700 });
    if (first === undefined) return;
    for (let at = folder; at.length >= first.length; at = dirname(at))
      await syncFolder(dirname(at));
  }

  async #removeLeftovers(): Promise<void> {
    for (const name of await readdir(this.#drafts)) {
      const path = join(this.#drafts, name);
      const age = Date.now() - ((await modifiedMs(path)) ?? Date.now());
      if (age > LEFTOVER_AGE_MS) await rm(path, { force: true });
    }
  }
}

/** What is in the folders at that depth; those with another name than a folder's are skipped. */
async function* namesBelow(folder: string, depth: number): AsyncGenerator<string> {
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries) {
    if (depth === 1) yield entry.name;
    else if (entry.isDirectory()) yield* namesBelow(join(folder, entry.name), depth - 1);
  }
}

async function writeDraft(path: string, content: AsyncIterable<Uint8Array>): Promise<BlobRef> {
  const hash = createHash("sha256");
  let size = 0;
  const file = await open(path, "wx", 0o600);
  try {
    for await (const chunk of content) {
      hash.update(chunk);
      size += chunk.byteLength;
      await writeAll(file, chunk);
    }
    // Whatever the umask: the folder keeps strangers out, the file is to be mounted for another user.
    await file.chmod(0o644);
    await file.sync();
  } finally {
    await file.close();
  }
  return { sha256: hash.digest("hex"), size_bytes: size };
}

async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.byteLength; ) {
    const { bytesWritten } = await file.write(chunk, at);
    at += bytesWritten;
  }
}

/** Opened when the first byte is asked for, so that a reader who never starts leaves nothing open. */
async function* read(
  path: string,
  range: { start: number; end: number } | undefined,
): AsyncGenerator<Uint8Array> {
  if (range === undefined) {
    yield* createReadStream(path);
    return;
  }
  const { start, end } = range;
  if (end > start) yield* createReadStream(path, { start, end: end - 1 });
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function exists(path: string): Promise<boolean> {
  return isThere(access(path));
}

/** False if there is no such file. */
function isTouched(path: string): Promise<boolean> {
  const now = new Date();
  return isThere(utimes(path, now, now));
}

/** As `isTouched`. */
function isMoved(from: string, to: string): Promise<boolean> {
  return isThere(rename(from, to));
}

async function isThere(done: Promise<void>): Promise<boolean> {
  try {
    await done;
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}

async function modifiedMs(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error ? String(error.code) : undefined;
}
