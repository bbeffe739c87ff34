import { memoryContentBytesMax } from "@drover/api";
import type { MemoryChange } from "../ports/hands.ts";
import type { MemoryRecord } from "../ports/memory-stores.ts";
import { MEMORIES_MAX } from "./limits.ts";
import { pathProblem } from "./path.ts";
import { PathSet } from "./path-set.ts";

/** A change that a sandbox made, with the hash of its content; null where the content is. */
export interface HashedChange extends Omit<MemoryChange, "memory_store_id"> {
  readonly sha256: string | null;
}

/** To be carried out in this order. */
export type MemoryWrite =
  | { readonly type: "delete"; readonly memory: MemoryRecord }
  /** Its content stays. */
  | { readonly type: "rename"; readonly memory: MemoryRecord; readonly path: string }
  | { readonly type: "update"; readonly memory: MemoryRecord; readonly content: string }
  | { readonly type: "create"; readonly path: string; readonly content: string };

/** What the model is to be told of a change. */
export type Told =
  /** The store had another memory there by then, which stays; this one was stored beside it. */
  | { readonly type: "beside"; readonly path: string; readonly beside: string }
  /** It was to be deleted, and the store has another content by now, which stays. */
  | { readonly type: "not_deleted"; readonly path: string }
  | { readonly type: "refused"; readonly path: string; readonly reason: string };

export interface WriteBack {
  readonly writes: readonly MemoryWrite[];
  readonly told: readonly Told[];
}

type Creation = Extract<MemoryWrite, { type: "create" }> & { readonly sha256: string };

/**
 * What becomes of the changes that a sandbox made in a store that has these memories now. Three-way: a
 * memory that is as the sandbox had it takes the change; one that others have changed stays, and what the
 * sandbox has is stored beside it, under a name that follows from path and content. So no text is lost,
 * and doing it twice does nothing the second time.
 */
export function planWriteBack(
  present: readonly MemoryRecord[],
  changes: readonly HashedChange[],
): WriteBack {
  const plan = new Plan(present);
  for (const change of changes.toSorted(byPath)) plan.sort(change);
  return plan.finish();
}

class Plan {
  readonly #present: ReadonlyMap<string, MemoryRecord>;
  readonly #paths: PathSet;
  readonly #deletions: MemoryRecord[] = [];
  readonly #updates: MemoryWrite[] = [];
  readonly #creations: Creation[] = [];
  readonly #conflicts: (Creation & { readonly beside: string })[] = [];
  readonly #told: Told[] = [];

  constructor(present: readonly MemoryRecord[]) {
    this.#present = new Map(present.map((memory) => [memory.path, memory]));
    this.#paths = new PathSet(this.#present.keys());
  }

  sort({ path, derived_from, content, sha256 }: HashedChange): void {
    const problem = pathProblem(path) ?? contentProblem(content);
    if (problem !== undefined) {
      this.#told.push({ type: "refused", path, reason: problem });
      return;
    }
    const memory = this.#present.get(path);
    if (memory?.content_sha256 === (sha256 ?? undefined)) return;
    const isKnown = memory !== undefined && derived_from.includes(memory.content_sha256);
    if (content === null || sha256 === null) {
      if (isKnown) this.#deletions.push(memory);
      else this.#told.push({ type: "not_deleted", path });
      return;
    }
    const creation = { type: "create", path, content, sha256 } as const;
    if (memory === undefined) this.#creations.push(creation);
    else if (isKnown) this.#updates.push({ type: "update", memory, content });
    else this.#conflicts.push({ ...creation, beside: path });
  }

  finish(): WriteBack {
    const { writes, creations } = this.#moves();
    writes.push(...this.#updates);
    for (const creation of creations) {
      const inTheWay = this.#paths.inTheWay(creation.path);
      if (inTheWay === undefined) this.#create(creation, creation.path, writes);
      else this.#conflicts.push({ ...creation, beside: inTheWay });
    }
    for (const conflict of this.#conflicts) this.#storeBeside(conflict, writes);
    return { writes, told: this.#told };
  }

  /** Deletions, and renames where a file of the same content has appeared elsewhere. */
  #moves(): { writes: MemoryWrite[]; creations: readonly Creation[] } {
    const creations = new Set(this.#creations);
    const pairs = new Map<MemoryRecord, Creation>();
    for (const memory of this.#deletions) {
      const twin = [...creations].find(({ sha256 }) => sha256 === memory.content_sha256);
      if (twin === undefined) continue;
      pairs.set(memory, twin);
      creations.delete(twin);
    }
    const writes: MemoryWrite[] = [];
    for (const memory of this.#deletions.filter((each) => !pairs.has(each))) {
      this.#paths.delete(memory.path);
      writes.push({ type: "delete", memory });
    }
    for (const [memory, creation] of pairs) {
      this.#paths.delete(memory.path);
      if (this.#paths.inTheWay(creation.path) === undefined) {
        this.#paths.add(creation.path);
        writes.push({ type: "rename", memory, path: creation.path });
      } else {
        // Two that change places, or one that moves below itself before another has left.
        writes.push({ type: "delete", memory });
        creations.add(creation);
      }
    }
    return { writes, creations: [...creations].toSorted(byPath) };
  }

  #create({ path, content }: Creation, at: string, writes: MemoryWrite[]): boolean {
    if (this.#paths.size >= MEMORIES_MAX) {
      const reason = `the store has ${MEMORIES_MAX} memories, which is as many as it may have`;
      this.#told.push({ type: "refused", path, reason });
      return false;
    }
    this.#paths.add(at);
    writes.push({ type: "create", path: at, content });
    return true;
  }

  #storeBeside(conflict: Creation & { readonly beside: string }, writes: MemoryWrite[]): void {
    const { path, sha256 } = conflict;
    const beside = besidePath(conflict);
    const isThere = this.#present.get(beside)?.content_sha256 === sha256;
    const problem = pathProblem(beside) ?? (isThere ? undefined : this.#paths.inTheWay(beside));
    if (problem !== undefined) {
      const reason =
        "the store has another memory there by now, and none could be stored beside it";
      this.#told.push({ type: "refused", path, reason });
    } else if (isThere || this.#create(conflict, beside, writes)) {
      this.#told.push({ type: "beside", path, beside });
    }
  }
}

/** `/a.md` beside `/a.md`, `/a.md.conflict-1a2b3c4d/b` where `/a.md` was to be a folder. */
function besidePath({ path, beside, sha256 }: { path: string; beside: string; sha256: string }) {
  return `${beside}.conflict-${sha256.slice(0, 8)}${path.slice(beside.length)}`;
}

function contentProblem(content: string | null): string | undefined {
  if (content === null) return undefined;
  if (!content.isWellFormed() || content.includes("\0")) return "it is not text in UTF-8";
  const size = new TextEncoder().encode(content).length;
  if (size <= memoryContentBytesMax) return undefined;
  return `it has ${size} bytes, of ${memoryContentBytesMax} at most`;
}

function byPath(left: { path: string }, right: { path: string }): number {
  return left.path < right.path ? -1 : 1;
}
