import { ancestorsOf } from "../../core/memory/path.ts";
import type { SnapshotEntry } from "../../core/ports/memory-copies.ts";
import type { FileState, StoreState } from "./copy-state.ts";
import type { FoundFile } from "./file-scan.ts";

/** What is to be done to a file so that it is as the store has it. */
export interface Refresh {
  readonly path: string;
  /** What it is to be; null to be gone. */
  readonly state: FileState;
  /** Of the file that it takes the place of; null where none is. */
  readonly version: string | null;
}

export interface RefreshPlan {
  readonly refreshes: readonly Refresh[];
  /** Memories for which there is no place, because something else is where they are to lie. */
  readonly blocked: readonly string[];
}

/**
 * What has to be done so that the folder is as the store is. Files with something new in them stay; of
 * `hidden` ones it is not known what they are, so they do too.
 */
export function planRefresh(
  entries: readonly SnapshotEntry[],
  files: ReadonlyMap<string, FoundFile>,
  store: StoreState,
  hidden: ReadonlySet<string>,
): RefreshPlan {
  const wanted = new Map(entries.map(({ path, sha256 }) => [path, sha256]));
  const refreshes: Refresh[] = [];
  const blocked: string[] = [];
  for (const path of new Set([...store.known.keys(), ...wanted.keys()])) {
    if (hidden.has(path)) continue;
    const file = files.get(path);
    const found = file?.sha256 ?? null;
    const state = wanted.get(path) ?? null;
    store.decide(path, found);
    const isBlocked = state !== null && ancestorsOf(path).some((above) => hidden.has(above));
    if (found === state) store.settle(path, state);
    // A link there would lead it to anywhere.
    else if (isBlocked) blocked.push(path);
    else if (store.isNew(path, found)) reconsider(store, path, state);
    else refreshes.push({ path, state, version: file?.version ?? null });
  }
  return { refreshes, blocked };
}

/** What was refused for want of a place may have met the memory that has it now. */
function reconsider(store: StoreState, path: string, state: FileState): void {
  if (state !== null && store.isNew(path, state)) store.kept.delete(path);
}
