import { createHash } from "node:crypto";
import { chownSync, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** Kernel user ids of sandboxes: far above people, services and the usual ranges of containers' users. */
const FIRST_UID = 300_000;
const UIDS = 200_000;

/**
 * One kernel uid (and equal gid) per hand. The owner of a hand's workspace is the memory of it, so
 * that it is never given to another while files of the first are there.
 */
export class HostUids {
  readonly #handsFolder: string;
  #used: Set<number> | undefined;

  constructor(handsFolder: string) {
    this.#handsFolder = handsFolder;
  }

  /** The hand's uid, which owns its writable folders from now on. */
  claim(handId: string, folders: readonly string[]): number {
    const owners = folders.map((folder) => lstatSync(folder).uid).filter(isSandboxUid);
    const uid = owners[0] ?? this.#choose(handId);
    for (const folder of folders) if (lstatSync(folder).uid !== uid) chownSync(folder, uid, uid);
    this.#known().add(uid);
    return uid;
  }

  /** Its files are gone. */
  release(uid: number): void {
    this.#used?.delete(uid);
  }

  #choose(handId: string): number {
    const used = this.#known();
    if (used.size >= UIDS) throw new Error(`all ${UIDS} user ids for sandboxes are in use`);
    // By hash, so that two installations on one machine rarely choose the same.
    const start = createHash("sha256").update(`${this.#handsFolder}/${handId}`).digest();
    let offset = start.readUInt32BE(0) % UIDS;
    while (used.has(FIRST_UID + offset)) offset = (offset + 1) % UIDS;
    return FIRST_UID + offset;
  }

  #known(): Set<number> {
    this.#used ??= new Set(
      readdirSync(this.#handsFolder)
        .map((name) => ownerOf(join(this.#handsFolder, name, "workspace")))
        .filter((uid) => uid !== undefined),
    );
    return this.#used;
  }
}

/** The sandbox uid that owns the folder; undefined if none does. */
export function ownerOf(folder: string): number | undefined {
  const uid = lstatSync(folder, { throwIfNoEntry: false })?.uid;
  return uid !== undefined && isSandboxUid(uid) ? uid : undefined;
}

/** Whether only processes and files of sandboxes have it. */
export function isSandboxUid(uid: number): boolean {
  return uid >= FIRST_UID && uid < FIRST_UID + UIDS;
}
