import { constants } from "node:fs";
import {
  chmod,
  copyFile,
  link,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  writeFile,
} from "node:fs/promises";
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
  readonly blobPath: (sha256: string) => string;
  /** Whether sandboxes have another kernel uid than the owner of the blobs. */
  readonly isForeign: boolean;
}

/** The content of each file, by its path below the folder. */
type Shown = ReadonlyMap<string, FileMount>;

/**
 * A folder with all mounted files, shown read-only as a whole: one mount, where a thousand would take
 * seconds, and one whose content can change while programs look at it. Files are hard links to the blobs,
 * or copies where the sandbox could not read the blob or a link is not possible. Sandboxes never write
 * here, so the host may.
 */
export class UploadTree {
  readonly path: string;
  readonly #options: UploadTreeOptions;
  /** Where files and the folder itself are made, before they are in their place at once. */
  readonly #draft: string;
  /** What the folder shows; not there while that is being changed. */
  readonly #note: string;
  #shown = new Map<string, FileMount>();
  /** The last change that was asked for. Never rejects. */
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(options: UploadTreeOptions) {
    this.#options = options;
    this.path = join(options.handFolder, "uploads");
    this.#draft = `${this.path}.tmp`;
    this.#note = `${this.path}.json`;
  }

  /** The folder as it is wanted, of a hand that has no sandbox. Rejects with `SandboxUnavailableError`. */
  static async make(options: UploadTreeOptions, mounts: readonly FileMount[]): Promise<UploadTree> {
    const tree = new UploadTree(options);
    await tree.#make(wantedOf(mounts));
    return tree;
  }

  /**
   * Makes the folder show these files and no others, also below a running sandbox: each is there whole or
   * not at all. Where one cannot be had, it rejects with `SandboxUnavailableError`, and the next attempt
   * goes on from there.
   */
  async show(mounts: readonly FileMount[]): Promise<void> {
    const wanted = wantedOf(mounts);
    const turn = this.#turn.then(() => this.#show(wanted));
    this.#turn = turn.catch(() => undefined);
    await turn;
  }

  async #make(wanted: Shown): Promise<void> {
    await this.#removeEarlier();
    this.#shown = new Map(wanted);
    const noted = await readFile(this.#note, "utf8").catch(() => "");
    if (noted === noteOf(wanted) && (await lstat(this.path).catch(() => undefined))) return;
    for (const path of [this.#note, this.path, this.#draft]) {
      await rm(path, { recursive: true, force: true });
    }
    await makeFolder(this.#draft);
    const made = new Set([this.#draft]);
    for (const [path, mount] of wanted) {
      const target = join(this.#draft, path);
      await makeFolders(dirname(target), made);
      await place(this.#options, mount, target);
    }
    await rename(this.#draft, this.path);
    await writeFile(this.#note, noteOf(wanted), { mode: 0o600 });
  }

  async #show(wanted: Shown): Promise<void> {
    const isSame = (path: string) => this.#shown.get(path)?.sha256 === wanted.get(path)?.sha256;
    const gone = [...this.#shown.keys()].filter((path) => !wanted.has(path));
    const added = [...wanted].filter(([path]) => !isSame(path));
    if (gone.length === 0 && added.length === 0) return;
    await rm(this.#note, { force: true });
    for (const path of gone) await this.#remove(path);
    for (const [path, mount] of added) await this.#add(path, mount);
    await writeFile(this.#note, noteOf(wanted), { mode: 0o600 });
  }

  /** In its place at once, also where there is another content. */
  async #add(path: string, mount: FileMount): Promise<void> {
    const target = join(this.path, path);
    await rm(this.#draft, { recursive: true, force: true });
    await place(this.#options, mount, this.#draft);
    await this.#makeFolders(dirname(path));
    await rename(this.#draft, target);
    this.#shown.set(path, mount);
  }

  /** Each can be entered from the moment in which it is there. */
  async #makeFolders(path: string): Promise<void> {
    if (path === ".") return;
    await this.#makeFolders(dirname(path));
    const target = join(this.path, path);
    if (await isFolder(target)) return;
    const draft = `${this.#draft}.folder`;
    await rm(draft, { recursive: true, force: true });
    await makeFolder(draft);
    await rename(draft, target);
  }

  /** With the folders that it leaves empty. */
  async #remove(path: string): Promise<void> {
    await rm(join(this.path, path), { force: true });
    this.#shown.delete(path);
    for (let above = dirname(path); above !== "."; above = dirname(above)) {
      const isRemoved = await rmdir(join(this.path, above)).then(
        () => true,
        () => false,
      );
      if (!isRemoved) return;
    }
  }

  /** Versions before had a folder for each set of files. */
  async #removeEarlier(): Promise<void> {
    const { handFolder } = this.#options;
    for (const name of await readdir(handFolder)) {
      if (!name.startsWith("uploads-")) continue;
      await rm(join(handFolder, name), { recursive: true, force: true });
    }
  }
}

function wantedOf(mounts: readonly FileMount[]): Shown {
  const paths = mounts.map((mount) => relativePath(mount.mount_path));
  checkTogether(paths);
  return new Map(mounts.map((mount, index) => [paths[index] ?? "", mount]));
}

function noteOf(shown: Shown): string {
  return JSON.stringify([...shown].map(([path, { sha256 }]) => [path, sha256]));
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
  { blobPath, isForeign }: UploadTreeOptions,
  mount: FileMount,
  target: string,
): Promise<void> {
  const blob = blobPath(mount.sha256);
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

async function isFolder(path: string): Promise<boolean> {
  const stat = await lstat(path).catch(() => undefined);
  return stat?.isDirectory() === true;
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
