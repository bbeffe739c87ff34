import { randomUUID } from "node:crypto";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { failPoint } from "../../lib/fail-point.ts";
import { extractSkill } from "./extract-skill.ts";

/** Skills kept unpacked; beyond either limit those go that were not used for longest. */
const KEPT_MAX = 128;
const KEPT_BYTES_MAX = 512 * 1024 * 1024;

export interface CachedSkill {
  /** The workspace and hash of the archive: nobody gets to see another workspace's copy. */
  readonly key: string;
  readonly name: string;
  /** Of the archive. */
  readonly zip: string;
}

interface Entry {
  readonly folder: Promise<string>;
  users: number;
  bytes: number;
}

/**
 * Skills unpacked once for all sandboxes that have them, in a folder that no sandbox reaches. A hand
 * takes hard links from here, so what is deleted here stays where it is used. Nothing is synced: after
 * a power failure the folder is not to be believed, so every life of the hands begins with `clear`.
 */
export class SkillCache {
  readonly #folder: string;
  /** In the order of their last use. */
  readonly #entries = new Map<string, Entry>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Deletes what earlier processes left, half-made or whole. */
  async clear(): Promise<void> {
    if (this.#entries.size === 0) await rm(this.#folder, { recursive: true, force: true });
  }

  /**
   * Gives `work` the folder of an unpacked skill, which stays until the work has ended. Rejects with
   * `SandboxUnavailableError` for an archive that is not one of a skill of that name.
   */
  async use<T>(skill: CachedSkill, work: (folder: string) => Promise<T>): Promise<T> {
    const entry = this.#entries.get(skill.key) ?? this.#begin(skill);
    this.#entries.delete(skill.key);
    this.#entries.set(skill.key, entry);
    entry.users += 1;
    try {
      return await work(await entry.folder);
    } finally {
      entry.users -= 1;
      await this.#evict();
    }
  }

  #begin(skill: CachedSkill): Entry {
    const entry: Entry = {
      folder: this.#make(skill, (bytes) => (entry.bytes = bytes)),
      users: 0,
      bytes: 0,
    };
    entry.folder.catch(() => {
      if (this.#entries.get(skill.key) === entry) this.#entries.delete(skill.key);
    });
    return entry;
  }

  /** Whole or not at all, whatever is killed when: unpacked beside, then renamed. */
  async #make(skill: CachedSkill, weigh: (bytes: number) => void): Promise<string> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const id = randomUUID();
    const draft = join(this.#folder, `${id}.tmp`);
    try {
      weigh(await extractSkill(skill.zip, skill.name, draft));
      failPoint("hands.skill.after_extract");
      const folder = join(this.#folder, id);
      await rename(draft, folder);
      failPoint("hands.skill.after_publish");
      return folder;
    } catch (error) {
      await rm(draft, { recursive: true, force: true });
      throw error;
    }
  }

  async #evict(): Promise<void> {
    let bytes = 0;
    for (const entry of this.#entries.values()) bytes += entry.bytes;
    for (const [key, entry] of this.#entries) {
      if (this.#entries.size <= KEPT_MAX && bytes <= KEPT_BYTES_MAX) return;
      if (entry.users > 0) continue;
      this.#entries.delete(key);
      bytes -= entry.bytes;
      await rm(await entry.folder, { recursive: true, force: true });
    }
  }
}
