import { randomUUID } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { z } from "zod";
import type { MemoryAcknowledgement } from "../../core/ports/memory-copies.ts";
import { writeFileAtomically } from "../../lib/write-file-atomically.ts";
import type { CopyFolder } from "./copy-folder.ts";

/** SHA-256 of a file's content; null where there is no file. */
export type FileState = string | null;

/** Reports that can still be acknowledged; what older ones had is found out anew. */
const REPORTS_MAX = 16;

const StoredState = z.union([z.string(), z.null()]);
const Stored = z.strictObject({
  copy_id: z.string(),
  seq: z.number(),
  stores: z.record(
    z.string(),
    z.strictObject({
      known: z.record(z.string(), z.array(StoredState)),
      kept: z.record(z.string(), StoredState),
    }),
  ),
  reports: z.array(
    z.strictObject({
      seq: z.number(),
      changes: z.array(z.tuple([z.string(), z.string(), StoredState])),
    }),
  ),
});

/** What is known of the files of one store's copy. */
export class StoreState {
  /**
   * By path, the states in which a file has nothing new: as the store had it, or as was reported and
   * stored. Paths that are not here were never there. There are several only while one is being
   * replaced, the older first.
   */
  readonly known = new Map<string, readonly FileState[]>();
  /** States that were refused: left alone until they differ. */
  readonly kept = new Map<string, FileState>();

  knownAt(path: string): readonly FileState[] {
    return this.known.get(path) ?? [null];
  }

  settle(path: string, state: FileState): void {
    this.kept.delete(path);
    this.reset(path, [state]);
  }

  reset(path: string, states: readonly FileState[]): void {
    if (states.length === 1 && states[0] === null) this.known.delete(path);
    else this.known.set(path, states);
  }

  /** Of a replacement that was cut off, which side of it is there; where neither is, the older is safe. */
  decide(path: string, found: FileState | undefined): void {
    const states = this.knownAt(path);
    const [older = null] = states;
    if (states.length < 2) return;
    this.reset(path, [found !== undefined && states.includes(found) ? found : older]);
  }

  isNew(path: string, state: FileState): boolean {
    return !this.knownAt(path).includes(state);
  }
}

export interface SentReport {
  readonly seq: number;
  /** Store, path and what was reported. */
  readonly changes: readonly (readonly [string, string, FileState])[];
}

/**
 * What is known of a hand's copy. It is on disk before anything that it tells of happens, so that the
 * death of this process at any moment neither loses a change nor makes one.
 */
export class CopyState {
  readonly #folder: CopyFolder;
  readonly #stores = new Map<string, StoreState>();
  #reports: readonly SentReport[] = [];
  #id = `copy_${randomUUID()}`;
  #seq = 0;

  private constructor(folder: CopyFolder) {
    this.#folder = folder;
  }

  /** A new copy if there is none. */
  static async load(folder: CopyFolder): Promise<CopyState> {
    const state = new CopyState(folder);
    await mkdir(folder.incoming, { recursive: true, mode: 0o700 });
    const text = await readFile(folder.state, "utf8").catch((error: unknown) => {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
      throw error;
    });
    if (text !== undefined) state.#take(Stored.parse(JSON.parse(text)));
    return state;
  }

  get copyId(): string {
    return this.#id;
  }

  store(id: string): StoreState {
    const found = this.#stores.get(id) ?? new StoreState();
    this.#stores.set(id, found);
    return found;
  }

  /** By store and path, what was reported and is not acknowledged. */
  reported(): ReadonlyMap<string, readonly FileState[]> {
    const all = new Map<string, FileState[]>();
    for (const [storeId, path, state] of this.#reports.flatMap(({ changes }) => changes)) {
      const states = all.get(placeOf(storeId, path));
      if (states === undefined) all.set(placeOf(storeId, path), [state]);
      else states.push(state);
    }
    return all;
  }

  /** Takes a report down before it is sent; gives its number. */
  async report(changes: SentReport["changes"]): Promise<number> {
    this.#seq += 1;
    const all = [...this.#reports, { seq: this.#seq, changes }];
    this.#reports = all.slice(-REPORTS_MAX);
    await this.save();
    return this.#seq;
  }

  /** What a report had is stored, or was refused. */
  acknowledge({ copy_id, seq, refused }: MemoryAcknowledgement): void {
    if (copy_id !== this.#id) return;
    const isRefused = new Set(refused.map((each) => placeOf(each.memory_store_id, each.path)));
    const report = this.#reports.find((each) => each.seq === seq);
    this.#reports = this.#reports.filter((each) => each.seq > seq);
    for (const [storeId, path, state] of report?.changes ?? []) {
      const store = this.store(storeId);
      if (isRefused.has(placeOf(storeId, path))) store.kept.set(path, state);
      else store.settle(path, state);
    }
  }

  async save(): Promise<void> {
    const stored: z.infer<typeof Stored> = {
      copy_id: this.#id,
      seq: this.#seq,
      stores: Object.fromEntries(
        [...this.#stores].map(([id, { known, kept }]) => [
          id,
          {
            known: Object.fromEntries([...known].map(([path, states]) => [path, [...states]])),
            kept: Object.fromEntries(kept),
          },
        ]),
      ),
      reports: this.#reports.map(({ seq, changes }) => ({
        seq,
        changes: changes.map((change): [string, string, FileState] => [...change]),
      })),
    };
    await writeFileAtomically(this.#folder.state, JSON.stringify(stored), { mode: 0o600 });
  }

  #take(stored: z.infer<typeof Stored>): void {
    this.#id = stored.copy_id;
    this.#seq = stored.seq;
    this.#reports = stored.reports;
    for (const [id, { known, kept }] of Object.entries(stored.stores)) {
      const store = this.store(id);
      for (const [path, states] of Object.entries(known)) store.known.set(path, states);
      for (const [path, state] of Object.entries(kept)) store.kept.set(path, state);
    }
  }
}

/** An id has no blank. */
export function placeOf(storeId: string, path: string): string {
  return `${storeId} ${path}`;
}
