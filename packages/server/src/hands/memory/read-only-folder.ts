import { chmod, copyFile, mkdir, rename, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathProblem } from "../../core/memory/path.ts";
import type { SnapshotEntry } from "../../core/ports/memory-copies.ts";
import type { StoreState } from "./copy-state.ts";

export interface ReadOnlyFolder {
  /** Host path. No sandbox ever writes here, so the host may. */
  readonly folder: string;
  /** Where the contents are, by hash. */
  readonly incoming: string;
  readonly entries: readonly SnapshotEntry[];
  readonly store: StoreState;
}

/** Makes the folder like the store; gives the paths that no file can have. */
export async function refreshReadOnly(options: ReadOnlyFolder): Promise<readonly string[]> {
  const { folder, incoming, entries, store } = options;
  const wanted = new Map(entries.map(({ path, sha256 }) => [path, sha256]));
  const notShown: string[] = [];
  for (const path of [...store.known.keys()]) {
    if (wanted.has(path)) continue;
    await rm(join(folder, path), { force: true });
    await removeEmpty(folder, dirname(path));
    store.settle(path, null);
  }
  for (const [path, sha256] of wanted) {
    const known = store.knownAt(path);
    if (known.length === 1 && known[0] === sha256) continue;
    try {
      await place(join(incoming, sha256), folder, path);
      store.settle(path, sha256);
    } catch (error) {
      if (!isImpossible(error)) throw error;
      notShown.push(path);
    }
  }
  return notShown;
}

/** As a whole: who reads it sees the old content or the new. */
async function place(source: string, folder: string, path: string): Promise<void> {
  if (pathProblem(path) !== undefined) throw new Error(`${path} is no path of a memory`);
  const target = join(folder, path);
  await makeFolders(folder, dirname(path));
  const draft = `${source}.draft`;
  await copyFile(source, draft);
  await chmod(draft, 0o644);
  await rename(draft, target);
}

/** For sandboxes to be looked into, whatever the umask is. */
async function makeFolders(root: string, folder: string): Promise<void> {
  if (folder === "/") return;
  await makeFolders(root, dirname(folder));
  const made = await mkdir(join(root, folder), { recursive: true });
  if (made !== undefined) await chmod(join(root, folder), 0o755);
}

async function removeEmpty(root: string, folder: string): Promise<void> {
  for (let at = folder; at !== "/"; at = dirname(at)) {
    const isRemoved = await rmdir(join(root, at)).then(
      () => true,
      () => false,
    );
    if (!isRemoved) return;
  }
}

/** A memory's name may be longer than that of a file. */
function isImpossible(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENAMETOOLONG";
}
