import type {
  MemoryStoreKey,
  MemoryStoreListFilter,
  MemoryStoreRecord,
  MemoryStores,
  MemoryStoreWriter,
  StoreRevision,
} from "../../core/ports/memory-stores.ts";
import type { PageRequest } from "../../core/ports/sessions.ts";
import { fromJson, toJson } from "../json-column.ts";
import { allOf, oneOf, type SqlRunner, type SqlTransaction, sql } from "../sql.ts";
import {
  countMemories,
  deleteMemory,
  findMemories,
  findMemory,
  insertMemory,
  listMemories,
  updateMemory,
} from "./memories.ts";
import { findMemoryCopy, putMemoryCopy } from "./memory-copies.ts";
import { findVersion, listVersions, redactVersion } from "./memory-versions.ts";
import { afterPosition, pageEnd, within } from "./pages.ts";

type Row = Omit<MemoryStoreRecord, "metadata"> & { metadata: string };

const COLUMNS = sql`
  workspace_id, id, name, description, metadata, created_at, updated_at, archived_at`;

export function memoryStoreReader(db: SqlRunner): MemoryStores {
  return {
    find: (workspaceId, id) => findStore(db, workspaceId, id),
    list: (workspaceId, filter, page) => listStores(db, workspaceId, filter, page),
    findMemory: (key, id, view) => findMemory(db, key, id, view),
    listMemories: (key, range) => listMemories(db, key, range),
    findRevisions: (workspaceId, ids) => findRevisions(db, workspaceId, ids),
    findCopy: (key) => findMemoryCopy(db, key),
    findMemories: (key, ids) => findMemories(db, key, ids),
    findVersion: (key, id, view) => findVersion(db, key, id, view),
    listVersions: (key, filter, page) => listVersions(db, key, filter, page),
  };
}

export function memoryStoreWriter(tx: SqlTransaction): MemoryStoreWriter {
  return {
    ...memoryStoreReader(tx.db),
    insert: (store) => insertStore(tx, store),
    update: (store) => updateStore(tx, store),
    delete: (key) => deleteStore(tx, key),
    lock: (key) => lockStore(tx, key),
    putCopy: (key, acknowledgement) => putMemoryCopy(tx, key, acknowledgement),
    countMemories: (key) => countMemories(tx, key),
    insertMemory: (memory, by) => insertMemory(tx, memory, by),
    updateMemory: (memory, by) => updateMemory(tx, memory, by),
    deleteMemory: (memory, versionId, by) => deleteMemory(tx, memory, versionId, by),
    redactVersion: (key, id, by) => redactVersion(tx, key, id, by),
  };
}

async function findStore(
  db: SqlRunner,
  workspaceId: string,
  id: string,
): Promise<MemoryStoreRecord | undefined> {
  const row = await db.get<Row>(sql`
    select ${COLUMNS} from memory_stores where workspace_id = ${workspaceId} and id = ${id}`);
  return row === undefined ? undefined : decode(row);
}

/** See `MemoryStoreWriter.lock`. The write is what locks on PostgreSQL. */
async function lockStore(
  tx: SqlTransaction,
  { workspaceId, storeId }: MemoryStoreKey,
): Promise<MemoryStoreRecord | undefined> {
  const row = await tx.db.get<Row>(sql`
    update memory_stores set last_version = last_version
    where workspace_id = ${workspaceId} and id = ${storeId}
    returning ${COLUMNS}`);
  return row === undefined ? undefined : decode(row);
}

async function findRevisions(
  db: SqlRunner,
  workspaceId: string,
  ids: readonly string[],
): Promise<readonly StoreRevision[]> {
  return await db.all<StoreRevision>(sql`
    select id as memory_store_id, last_version as revision from memory_stores
    where workspace_id = ${workspaceId} and id in ${oneOf(ids)}`);
}

async function listStores(
  db: SqlRunner,
  workspaceId: string,
  { createdAt, includeArchived }: MemoryStoreListFilter,
  page: PageRequest,
): Promise<readonly MemoryStoreRecord[]> {
  const rows = await db.all<Row>(sql`
    select ${COLUMNS} from memory_stores
    where workspace_id = ${workspaceId} and ${allOf([
      includeArchived === true ? undefined : sql`archived_at is null`,
      within(sql`created_at`, createdAt),
      afterPosition(page),
    ])}
    ${pageEnd(page)}`);
  return rows.map(decode);
}

async function insertStore(tx: SqlTransaction, store: MemoryStoreRecord): Promise<void> {
  await tx.db.all(sql`
    insert into memory_stores (${COLUMNS}, last_version)
    values (
      ${store.workspace_id}, ${store.id}, ${store.name}, ${store.description},
      ${toJson(store.metadata)}, ${store.created_at}, ${store.updated_at}, ${store.archived_at}, ${0}
    )`);
}

async function updateStore(tx: SqlTransaction, store: MemoryStoreRecord): Promise<void> {
  await tx.db.all(sql`
    update memory_stores set
      name = ${store.name}, description = ${store.description},
      metadata = ${toJson(store.metadata)}, updated_at = ${store.updated_at},
      archived_at = ${store.archived_at}
    where workspace_id = ${store.workspace_id} and id = ${store.id}`);
}

async function deleteStore(
  tx: SqlTransaction,
  { workspaceId, storeId }: MemoryStoreKey,
): Promise<void> {
  // The store first: whoever writes a memory of it now has written its row, and is waited for.
  await tx.db.all(sql`
    delete from memory_stores where workspace_id = ${workspaceId} and id = ${storeId}`);
  for (const table of [sql`memory_contents`, sql`memory_versions`, sql`memories`]) {
    await tx.db.all(sql`
      delete from ${table} where workspace_id = ${workspaceId} and memory_store_id = ${storeId}`);
  }
}

function decode(row: Row): MemoryStoreRecord {
  return { ...row, metadata: fromJson(row.metadata) };
}
