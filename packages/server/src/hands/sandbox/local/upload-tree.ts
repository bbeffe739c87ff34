import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { chmod, copyFile, link, lstat, mkdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { FileMount } from "../../../core/ports/hands.ts";
import { SandboxUnavailableError } from "../../../core/ports/sandbox.ts";

export const UPLOADS_FOLDER = "/mnt/session/uploads";

const MOUNTS_MAX = 1000;
const PATH_BYTES_MAX = 1024;
const SEGMENT_BYTES_MAX = 255;
const READABLE_BY_ALL = 0o004;

export interface UploadTreeOptions {
  readonly handFolder: string;
  readonly mounts: readonly FileMount[];
  readonly blobPath: (sha256: string) => string;
  /** Whether sandboxes have another kernel uid than the owner of the blobs. */
  readonly isForeign: boolean;
}

/**
 * A folder with all mounted files, shown read-only as a whole: one mount, where a thousand would take
 * seconds. Files are hard links to the blobs, or copies where the sandbox could not read the blob or a
 * link is not possible. Sandboxes never write here, so the host may. Gives the folder's path.
 */
export async function makeUploadTree(options: UploadTreeOptions): Promise<string> {
  const { handFolder, mounts } = options;
  const paths = mounts.map((mount) => relativePath(mount.mount_path));
  checkTogether(paths);
  const name = createHash("sha256").update(JSON.stringify(mounts)).digest("hex").slice(0, 16);
  const folder = join(handFolder, `uploads-${name}`);
  if (await lstat(folder).catch(() => undefined)) return folder;
  const draft = `${folder}.tmp`;
  await rm(draft, { recursive: true, force: true });
  await makeFolder(draft);
  const made = new Set([draft]);
  for (const [index, mount] of mounts.entries()) {
    const target = join(draft, paths[index] ?? "");
    await makeFolders(dirname(target), made);
    await place(options.blobPath(mount.sha256), target, mount, options.isForeign);
  }
  await rename(draft, folder);
  return folder;
}

async function makeFolders(folder: string, made: Set<string>): Promise<void> {
  if (made.has(folder)) return;
  await makeFolders(dirname(folder), made);
  await makeFolder(folder);
  made.add(folder);
}

/** Traversable by sandboxes whatever the umask is. */
async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder);
  await chmod(folder, 0o755);
}

async function place(
  blob: string,
  target: string,
  mount: FileMount,
  isForeign: boolean,
): Promise<void> {
  try {
    const stat = await lstat(blob);
    if (!isForeign || (stat.mode & READABLE_BY_ALL) !== 0) {
      const isLinked = await link(blob, target).then(
        () => true,
        () => false,
      );
      if (isLinked) return;
    }
    await copyFile(blob, target, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
    await chmod(target, 0o444);
  } catch (cause) {
    const message = `the content of ${mount.mount_path} (${mount.sha256}) cannot be had`;
    throw new SandboxUnavailableError(message, { cause });
  }
}

/** Path below the uploads folder. Throws for all that is not plainly there. */
function relativePath(mountPath: string): string {
  const prefix = `${UPLOADS_FOLDER}/`;
  const segments = mountPath.slice(prefix.length).split("/");
  const isPlain =
    mountPath.startsWith(prefix) &&
    mountPath.isWellFormed() &&
    !mountPath.includes("\0") &&
    Buffer.byteLength(mountPath) <= PATH_BYTES_MAX &&
    segments.every(
      (segment) =>
        segment !== "" &&
        segment !== "." &&
        segment !== ".." &&
        Buffer.byteLength(segment) <= SEGMENT_BYTES_MAX,
    );
  if (isPlain) return segments.join("/");
  const shown = JSON.stringify(mountPath.slice(0, 200));
  throw new SandboxUnavailableError(`${shown} is not a path below ${UPLOADS_FOLDER}`);
}

function checkTogether(paths: readonly string[]): void {
  if (paths.length > MOUNTS_MAX) {
    throw new SandboxUnavailableError(`${paths.length} files are more than ${MOUNTS_MAX}`);
  }
  const files = new Set<string>();
  for (const path of paths) {
    if (files.has(path)) throw clash(path);
    files.add(path);
  }
  for (const path of paths) {
    for (let above = dirname(path); above !== "."; above = dirname(above)) {
      if (files.has(above)) throw clash(above);
    }
  }
}

function clash(path: string): SandboxUnavailableError {
  return new SandboxUnavailableError(`two mounted files meet at ${UPLOADS_FOLDER}/${path}`);
}
