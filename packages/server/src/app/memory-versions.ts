import {
  type Actor,
  type MemoryVersion,
  type MemoryVersionListQuery,
  type MemoryView,
  type Page,
  pageLimitMax,
} from "@drover/api";
import { InvalidRequestError, NotFoundError } from "../core/errors.ts";
import type {
  MemoryStoreKey,
  MemoryVersionRecord,
  MemoryStores as StoreReader,
} from "../core/ports/memory-stores.ts";
import type { StoreTransaction } from "../core/ports/store.ts";
import { FULL_LIMIT_MAX } from "./memories-list.ts";
import { getStore, type MemoryStoresOptions } from "./memory-stores.ts";
import { assertWithin, createdAtOf, readForwardPage } from "./pagination.ts";
import { actorOf, type Principal } from "./principal.ts";

export interface MemoryVersions {
  retrieve(key: MemoryStoreKey, id: string, view: MemoryView): Promise<MemoryVersion>;
  /** Newest first. */
  list(key: MemoryStoreKey, query: MemoryVersionListQuery): Promise<Page<MemoryVersion>>;
  /**
   * Takes path, content, hash and size from a version for good; again is no error. Rejects with
   * `InvalidRequestError` the version that holds a memory's current content.
   */
  redact(
    tx: StoreTransaction,
    principal: Principal,
    at: { readonly storeId: string; readonly id: string },
  ): Promise<MemoryVersion>;
}

export function createMemoryVersions({
  store,
  cursors,
}: Omit<MemoryStoresOptions, "newId">): MemoryVersions {
  return {
    retrieve: async (key, id, view) => {
      await getStore(store.memoryStores, key);
      return versionOf(await getVersion(store.memoryStores, key, id, view));
    },
    list: async (key, query) => {
      await getStore(store.memoryStores, key);
      const view = query.view ?? "basic";
      const filter = {
        memoryId: query.memory_id,
        operation: query.operation,
        createdBy: actorsOf(query),
        createdAt: createdAtOf(query),
      };
      return await readForwardPage({
        cursors,
        scope: {
          workspaceId: key.workspaceId,
          list: `${key.storeId}/memory_versions`,
          order: "desc",
        },
        query,
        limitMax: view === "full" ? FULL_LIMIT_MAX : pageLimitMax,
        read: (limit, position) => {
          const [seq, createdAt] = position ?? [];
          if (createdAt !== undefined) assertWithin(createdAt, filter.createdAt);
          const after = seq === undefined ? undefined : Number(seq);
          return store.memoryStores.listVersions(key, filter, { limit, after, view });
        },
        positionOf: ({ seq, created_at }) => [String(seq), created_at],
        present: versionOf,
      });
    },
    redact: async (tx, principal, { storeId, id }) => {
      const key = { workspaceId: principal.workspaceId, storeId };
      await getStore(tx.memoryStores, key);
      const version = await getVersion(tx.memoryStores, key, id, "basic");
      if (version.redacted_at !== null) return versionOf(version);
      const memory = await tx.memoryStores.findMemory(key, version.memory_id, "basic");
      if (memory?.memory_version_id === id) {
        throw new InvalidRequestError(
          `memory version ${id} holds the current content of memory ${memory.id}: update or delete the memory first`,
        );
      }
      await tx.memoryStores.redactVersion(key, id, actorOf(principal));
      return versionOf(await getVersion(tx.memoryStores, key, id, "basic"));
    },
  };
}

/** Whom a list asks for: a version is of one actor, so that two of them find nothing. */
function actorsOf(query: MemoryVersionListQuery): readonly Actor[] {
  const { api_key_id, session_id, service_account_id } = query;
  const actors: Actor[] = [];
  if (api_key_id !== undefined) actors.push({ type: "api_actor", api_key_id });
  if (session_id !== undefined) actors.push({ type: "session_actor", session_id });
  if (service_account_id !== undefined) {
    actors.push({ type: "service_account_actor", service_account_id });
  }
  return actors;
}

async function getVersion(
  memoryStores: StoreReader,
  key: MemoryStoreKey,
  id: string,
  view: MemoryView,
): Promise<MemoryVersionRecord> {
  const record = await memoryStores.findVersion(key, id, view);
  if (record === undefined) {
    throw new NotFoundError(`there is no memory version ${id} in ${key.storeId}`);
  }
  return record;
}

/** The version as the API shows it. */
function versionOf(record: MemoryVersionRecord): MemoryVersion {
  const { workspace_id: _workspace, seq: _seq, id, redacted_by, ...rest } = record;
  return { id, type: "memory_version", ...rest, ...(redacted_by !== null && { redacted_by }) };
}
