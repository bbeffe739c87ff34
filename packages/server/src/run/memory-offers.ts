import { MEMORIES_MAX } from "../core/memory/limits.ts";
import type { MemoryMount } from "../core/ports/hands.ts";
import type { MemoryCopies, MemoryOffer, StoreSnapshot } from "../core/ports/memory-copies.ts";
import type { StoreRevision } from "../core/ports/memory-stores.ts";
import type { SessionRecord } from "../core/ports/sessions.ts";
import type { Store } from "../core/ports/store.ts";

/** Text of contents in one offer, in UTF-16 units; escaped it is a few times as much. */
const BATCH_LENGTH_MAX = 2 * 1024 * 1024;
/** Contents read at a time. */
const BATCH_MEMORIES = 20;
/** While others write the store faster than it can be read, an older state has to do. */
const ATTEMPTS_MAX = 5;

interface OfferDeps {
  readonly store: Pick<Store, "memoryStores">;
  readonly memoryCopies: MemoryCopies;
}

type Target = Pick<MemoryOffer, "handId" | "handsBoot" | "files">;

/**
 * Brings the memory stores of one session to its hand before each call. What was brought is remembered, so
 * that a call where nothing has changed costs two small reads.
 */
export class MemoryOffers {
  /** Which boot has it, and beside which of the states of the hand's files: with those it goes. */
  #place = "";
  /** By store, what this boot of the hands has. */
  readonly #brought = new Map<string, number>();
  #acknowledged = "";
  /** One at a time: calls that begin together need it once. */
  #turn: Promise<unknown> = Promise.resolve();

  /** Undefined once the hand has all; otherwise why it has not, in a sentence. */
  async bring(
    session: SessionRecord,
    target: Target,
    deps: OfferDeps,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const mounts = session.recipe.mounts.filter((mount) => mount.type === "memory_store");
    if (mounts.length === 0) return undefined;
    const turn = this.#turn.then(() => this.#bring(session, mounts, { target, deps, signal }));
    this.#turn = turn.catch(() => undefined);
    return await turn;
  }

  async #bring(
    session: SessionRecord,
    mounts: readonly MemoryMount[],
    { target, deps, signal }: { target: Target; deps: OfferDeps; signal: AbortSignal },
  ): Promise<string | undefined> {
    const place = JSON.stringify([target.handsBoot, target.files?.line ?? null]);
    if (place !== this.#place) {
      this.#brought.clear();
      this.#acknowledged = "";
      this.#place = place;
    }
    const { memoryStores } = deps.store;
    const { workspace_id: workspaceId, id: sessionId } = session;
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
      const ids = mounts.map((mount) => mount.memory_store_id);
      const revisions = await memoryStores.findRevisions(workspaceId, ids);
      const acknowledged = (await memoryStores.findCopy({ workspaceId, sessionId })) ?? null;
      const changed = mounts.flatMap(({ memory_store_id: id }) => {
        const revision = revisionOf(revisions, id);
        return this.#brought.get(id) === revision ? [] : [{ memory_store_id: id, revision }];
      });
      const key = JSON.stringify(acknowledged);
      if (changed.length === 0 && key === this.#acknowledged) return undefined;
      const stores = await snapshots(deps, workspaceId, changed);
      const { handId, handsBoot, files } = target;
      const offer = {
        ...{ handId, handsBoot, acknowledged, stores: stores.map(({ shown }) => shown) },
        ...(files !== undefined && { files }),
      };
      const places = new Map(stores.flatMap(({ memories }) => memories));
      const ended = await offerAll(deps, { offer, workspaceId, memories: places }, signal);
      if (ended.type === "unavailable") return ended.message;
      if (ended.type === "moved") continue;
      for (const { memory_store_id: id, revision } of changed) this.#brought.set(id, revision);
      this.#acknowledged = key;
      return undefined;
    }
    return "The memory stores are written faster than they can be read.";
  }
}

/** A store that is gone has no memories, in a state that comes after all others. */
function revisionOf(revisions: readonly StoreRevision[], id: string): number {
  const found = revisions.find(({ memory_store_id }) => memory_store_id === id);
  return found?.revision ?? Number.MAX_SAFE_INTEGER;
}

interface MemoryPlace {
  readonly storeId: string;
  readonly memoryId: string;
}

interface Snapshot {
  readonly shown: StoreSnapshot;
  /** Where the content of a hash is. */
  readonly memories: readonly (readonly [string, MemoryPlace])[];
}

async function snapshots(
  { store }: OfferDeps,
  workspaceId: string,
  stores: readonly StoreRevision[],
): Promise<readonly Snapshot[]> {
  const all: Snapshot[] = [];
  for (const { memory_store_id, revision } of stores) {
    const key = { workspaceId, storeId: memory_store_id };
    // Read after the revision: what comes in between is brought once more, and never left out.
    const rows = await store.memoryStores.listMemories(key, { limit: MEMORIES_MAX });
    const entries = rows.map((row) => ({
      path: row.path,
      sha256: row.content_sha256,
      size_bytes: row.content_size_bytes,
    }));
    all.push({
      shown: { memory_store_id, revision, entries },
      memories: rows.map((row) => [
        row.content_sha256,
        { storeId: memory_store_id, memoryId: row.id },
      ]),
    });
  }
  return all;
}

interface WholeOffer {
  readonly offer: Omit<MemoryOffer, "contents">;
  readonly workspaceId: string;
  readonly memories: ReadonlyMap<string, MemoryPlace>;
}

type Ended = { type: "taken" } | { type: "moved" } | { type: "unavailable"; message: string };

/** Offers the stores, then the contents that are missing, some at a time. */
async function offerAll(
  deps: OfferDeps,
  { offer, workspaceId, memories }: WholeOffer,
  signal: AbortSignal,
): Promise<Ended> {
  let answer = await deps.memoryCopies.offer({ ...offer, contents: [] }, signal);
  let left = Number.POSITIVE_INFINITY;
  for (;;) {
    if (answer.type === "unavailable") return answer;
    if (answer.missing.length === 0) return { type: "taken" };
    // Each round must bring some of it; what is missing and not in the snapshot has changed meanwhile.
    if (answer.missing.length >= left) return { type: "moved" };
    left = answer.missing.length;
    const places = answer.missing.flatMap((sha256) => memories.get(sha256) ?? []);
    const contents = await someContents(deps, workspaceId, places);
    if (contents.length === 0) return { type: "moved" };
    const rest = { ...offer, stores: [], contents };
    answer = await deps.memoryCopies.offer(rest, signal);
  }
}

async function someContents(
  { store }: OfferDeps,
  workspaceId: string,
  places: readonly MemoryPlace[],
): Promise<readonly string[]> {
  const contents: string[] = [];
  let length = 0;
  for (let at = 0; at < places.length && length < BATCH_LENGTH_MAX; at += BATCH_MEMORIES) {
    const some = places.slice(at, at + BATCH_MEMORIES);
    for (const storeId of new Set(some.map((place) => place.storeId))) {
      const ids = some.filter((place) => place.storeId === storeId).map((each) => each.memoryId);
      for (const { content } of await store.memoryStores.findMemories(
        { workspaceId, storeId },
        ids,
      )) {
        if (content === null) continue;
        contents.push(content);
        length += content.length;
      }
    }
  }
  return contents;
}
