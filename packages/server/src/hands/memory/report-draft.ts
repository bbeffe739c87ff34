import type { MemoryChange, MemoryMount, UnstoredFile } from "../../core/ports/hands.ts";
import type { Sandbox } from "../../core/ports/sandbox.ts";
import { MEMORY_CHANGES_MAX } from "../protocol/messages.ts";
import { type CopyState, type FileState, placeOf, type StoreState } from "./copy-state.ts";
import { isAbsent, type Scan } from "./file-scan.ts";

/** Of the states that a change was made from; the newest count. */
const DERIVED_MAX = 64;

/** What is found changed, as far as there is room for it in one result. */
export class ReportDraft {
  readonly changes: MemoryChange[] = [];
  readonly unstored: (UnstoredFile & { readonly version: string })[] = [];
  /** What the changes lead to, to be taken down. */
  readonly states: [string, string, FileState][] = [];
  readonly #reported: ReadonlyMap<string, readonly FileState[]>;
  #room: number;

  constructor(state: CopyState, room: number) {
    this.#reported = state.reported();
    this.#room = room;
  }

  /** Adds what differs in the folder of one store. */
  async add(
    mount: Pick<MemoryMount, "memory_store_id" | "mount_path">,
    { store, scan }: { readonly store: StoreState; readonly scan: Scan },
    sandbox: Sandbox,
  ): Promise<void> {
    for (const file of scan.unstorable) this.#leave(mount.memory_store_id, file);
    this.#addFiles(mount.memory_store_id, { store, scan });
    const hidden = new Set(scan.unstorable.map(({ path }) => path));
    for (const path of store.known.keys()) {
      if (scan.files.has(path) || hidden.has(path) || !isReportable(store, path, null)) continue;
      if (this.changes.length >= MEMORY_CHANGES_MAX) break;
      // A listing may leave out what is there; only what is certainly gone was deleted.
      if (!(await isAbsent(sandbox, `${mount.mount_path}${path}`))) continue;
      this.#change(mount.memory_store_id, path, { state: null, content: null, store });
    }
  }

  #addFiles(
    storeId: string,
    { store, scan }: { readonly store: StoreState; readonly scan: Scan },
  ): void {
    for (const path of [...scan.contents.keys()].toSorted()) {
      const content = scan.contents.get(path);
      const file = scan.files.get(path);
      if (file === undefined || content === undefined) continue;
      // As the result is sent: escaped.
      const size = JSON.stringify(content).length + path.length;
      if (size > this.#room || this.changes.length >= MEMORY_CHANGES_MAX) {
        this.#leave(storeId, { path, reason: "deferred", version: file.version });
        continue;
      }
      this.#room -= size;
      this.#change(storeId, path, { state: file.sha256, content, store });
    }
  }

  #change(
    memory_store_id: string,
    path: string,
    { state, content, store }: { state: FileState; content: string | null; store: StoreState },
  ): void {
    const earlier = this.#reported.get(placeOf(memory_store_id, path)) ?? [];
    const derived_from = [...new Set([...store.knownAt(path), ...earlier])].slice(-DERIVED_MAX);
    this.changes.push({ memory_store_id, path, derived_from, content });
    this.states.push([memory_store_id, path, state]);
  }

  #leave(
    memory_store_id: string,
    file: Omit<UnstoredFile, "memory_store_id"> & { version: string },
  ) {
    if (this.unstored.length < MEMORY_CHANGES_MAX) this.unstored.push({ memory_store_id, ...file });
  }
}

/** Whether it is new, and was not refused as it is. */
export function isReportable(store: StoreState, path: string, state: FileState): boolean {
  if (!store.isNew(path, state)) return false;
  return !store.kept.has(path) || store.kept.get(path) !== state;
}
