import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { MEMORY_STORES_MAX } from "../../core/memory/limits.ts";
import type { MemoryMount, Recipe } from "../../core/ports/hands.ts";
import { SandboxUnavailableError } from "../../core/ports/sandbox.ts";

const STORE_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/;
const MOUNT_PATH = /^\/mnt\/memory\/[a-z0-9-]{1,255}$/;

/**
 * Where the host keeps a hand's copy of its memory stores. The folder lives and dies with the hand's
 * other ones: a record of files that are not there would make deletions of them.
 */
export interface CopyFolder {
  readonly path: string;
  /** What is known of the files. */
  readonly state: string;
  /** Contents that were brought and are not in place yet, by hash. */
  readonly incoming: string;
}

export function copyFolder(handFolder: string): CopyFolder {
  const path = join(handFolder, "memory");
  return { path, state: join(path, "state.json"), incoming: join(path, "incoming") };
}

/** A folder on the host that a sandbox is shown. */
export interface MemoryFolder {
  /** Among the hand's folders. */
  readonly name: string;
  readonly mount_path: string;
  /**
   * Host path. Sandboxes write below a writable one, and the host never looks there. Where the hand has a disk, a
   * writable one is empty: the folder of that name on the disk takes its place.
   */
  readonly folder: string;
  readonly isWritable: boolean;
}

export function memoryMounts({ mounts }: Pick<Recipe, "mounts">): readonly MemoryMount[] {
  return mounts.filter((mount) => mount.type === "memory_store");
}

/** The folders of the mounted stores, made where they are missing. */
export function makeMemoryFolders(
  handFolder: string,
  mounts: readonly MemoryMount[],
): readonly MemoryFolder[] {
  const paths = new Set(mounts.map(({ mount_path }) => mount_path));
  if (mounts.length > MEMORY_STORES_MAX || paths.size < mounts.length) {
    throw new SandboxUnavailableError("there are too many memory stores, or two at one place");
  }
  return mounts.map(({ mount_path, memory_store_id, access }) => {
    if (!MOUNT_PATH.test(mount_path)) {
      const shown = JSON.stringify(mount_path.slice(0, 300));
      throw new SandboxUnavailableError(`${shown} is no place for a memory store`);
    }
    const folder = storeFolder(handFolder, memory_store_id);
    // Only when new: a sandbox may have changed the permissions of its own folders.
    if (mkdirSync(folder, { recursive: true }) !== undefined) chmodSync(folder, 0o755);
    const name = `memory-${memory_store_id}`;
    return { name, mount_path, folder, isWritable: access === "read_write" };
  });
}

export function writableOf(folders: readonly MemoryFolder[]): readonly string[] {
  return folders.flatMap((each) => (each.isWritable ? [each.folder] : []));
}

export function storeFolder(handFolder: string, storeId: string): string {
  if (!STORE_ID.test(storeId)) {
    throw new SandboxUnavailableError(`${JSON.stringify(storeId)} is no id of a memory store`);
  }
  return join(copyFolder(handFolder).path, "stores", storeId);
}
