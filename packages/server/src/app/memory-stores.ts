import { isDeepStrictEqual } from "node:util";
import {
  idPrefixes,
  type MemoryStore,
  type MemoryStoreCreateParams,
  type MemoryStoreDeleted,
  type MemoryStoreListQuery,
  type MemoryStoreUpdateParams,
  type Page,
} from "@drover/api";
import { InvalidRequestError, NotFoundError } from "../core/errors.ts";
import { patchedMetadata } from "../core/metadata.ts";
import type {
  MemoryStoreKey,
  MemoryStoreRecord,
  MemoryStores as StoreReader,
} from "../core/ports/memory-stores.ts";
import type { Store, StoreTransaction } from "../core/ports/store.ts";
import { type Cursors, createdAtOf, readPage } from "./pagination.ts";
import type { NewId, Principal } from "./principal.ts";

export interface MemoryStores {
  create(
    tx: StoreTransaction,
    principal: Principal,
    params: MemoryStoreCreateParams,
  ): Promise<MemoryStore>;
  retrieve(workspaceId: string, id: string): Promise<MemoryStore>;
  update(
    tx: StoreTransaction,
    principal: Principal,
    id: string,
    params: MemoryStoreUpdateParams,
  ): Promise<MemoryStore>;
  /** Newest first. */
  list(workspaceId: string, query: MemoryStoreListQuery): Promise<Page<MemoryStore>>;
  /** For good; again is no error. */
  archive(tx: StoreTransaction, principal: Principal, id: string): Promise<MemoryStore>;
  /** With its memories and their versions. */
  delete(tx: StoreTransaction, principal: Principal, id: string): Promise<MemoryStoreDeleted>;
}

export interface MemoryStoresOptions {
  readonly store: Store;
  readonly cursors: Cursors;
  readonly newId: NewId;
}

export function createMemoryStores({ store, cursors, newId }: MemoryStoresOptions): MemoryStores {
  return {
    create: async (tx, { workspaceId }, params) => {
      const record: MemoryStoreRecord = {
        workspace_id: workspaceId,
        id: newId(idPrefixes.memoryStore),
        name: params.name,
        description: params.description ?? "",
        metadata: params.metadata ?? {},
        created_at: tx.now,
        updated_at: tx.now,
        archived_at: null,
      };
      await tx.memoryStores.insert(record);
      return memoryStoreOf(record);
    },
    retrieve: async (workspaceId, storeId) =>
      memoryStoreOf(await getStore(store.memoryStores, { workspaceId, storeId })),
    update: async (tx, { workspaceId }, storeId, params) => {
      const record = await getWritableStore(tx.memoryStores, { workspaceId, storeId });
      const next = {
        ...record,
        name: params.name ?? record.name,
        description: params.description ?? record.description,
        metadata: patchedMetadata(record.metadata, params.metadata, { emptyDeletes: false }),
      };
      if (isDeepStrictEqual(next, record)) return memoryStoreOf(record);
      const updated = { ...next, updated_at: tx.now };
      await tx.memoryStores.update(updated);
      return memoryStoreOf(updated);
    },
    list: async (workspaceId, query) => {
      const createdAt = createdAtOf(query);
      const includeArchived = query.include_archived ?? false;
      const { data, next_page } = await readPage({
        cursors,
        scope: { workspaceId, list: "memory_stores", order: "desc" },
        query,
        createdAt,
        read: (page) => store.memoryStores.list(workspaceId, { createdAt, includeArchived }, page),
        present: memoryStoreOf,
      });
      return { data, next_page };
    },
    archive: async (tx, { workspaceId }, storeId) => {
      const record = await getStore(tx.memoryStores, { workspaceId, storeId });
      if (record.archived_at !== null) return memoryStoreOf(record);
      const archived = { ...record, archived_at: tx.now, updated_at: tx.now };
      await tx.memoryStores.update(archived);
      return memoryStoreOf(archived);
    },
    delete: async (tx, { workspaceId }, storeId) => {
      await getStore(tx.memoryStores, { workspaceId, storeId });
      await tx.memoryStores.delete({ workspaceId, storeId });
      return { id: storeId, type: "memory_store_deleted" };
    },
  };
}

export async function getStore(
  memoryStores: StoreReader,
  { workspaceId, storeId }: MemoryStoreKey,
): Promise<MemoryStoreRecord> {
  const record = await memoryStores.find(workspaceId, storeId);
  if (record === undefined) throw new NotFoundError(`there is no memory store ${storeId}`);
  return record;
}

/** As `getStore`, for what an archived store no longer allows. */
export async function getWritableStore(
  memoryStores: StoreReader,
  key: MemoryStoreKey,
): Promise<MemoryStoreRecord> {
  const record = await getStore(memoryStores, key);
  if (record.archived_at !== null) {
    throw new InvalidRequestError(
      `memory store ${key.storeId} is archived: it may be read, and its memories deleted`,
    );
  }
  return record;
}

/** The resource as the API shows it. */
function memoryStoreOf(record: MemoryStoreRecord): MemoryStore {
  const { workspace_id: _, id, metadata, ...rest } = record;
  return { id, type: "memory_store", ...rest, metadata: { ...metadata } };
}
