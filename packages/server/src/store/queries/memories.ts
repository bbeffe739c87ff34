import type { Actor, MemoryView } from "@drover/api";
import { MemoryPathConflictError } from "../../core/errors.ts";
import { ancestorsOf, endOf } from "../../core/memory/path.ts";
import type {
  MemoryRange,
  MemoryRecord,
  MemoryStoreKey,
  WholeMemory,
} from "../../core/ports/memory-stores.ts";
import { allOf, oneOf, type Query, type SqlRunner, type SqlTransaction, sql } from "../sql.ts";
import { addVersion } from "./memory-versions.ts";

const COLUMNS = sql`
  m.workspace_id, m.memory_store_id, m.id, m.memory_version_id, m.path, m.content_sha256,
  m.content_size_bytes, m.created_at, m.updated_at`;

const WITHOUT_CONTENT = sql`select ${COLUMNS}, null as content from memories m`;
const WITH_CONTENT = sql`
  select ${COLUMNS}, c.content from memories m
  join memory_contents c on c.workspace_id = m.workspace_id
    and c.memory_store_id = m.memory_store_id and c.memory_version_id = m.memory_version_id`;

export async function findMemory(
  db: SqlRunner,
  key: MemoryStoreKey,
  id: string,
  view: MemoryView,
): Promise<MemoryRecord | undefined> {
  return await db.get<MemoryRecord>(sql`
    ${view === "full" ? WITH_CONTENT : WITHOUT_CONTENT} where ${inStore(key)} and m.id = ${id}`);
}

/** See `MemoryStores.listMemories`. Text compares by its bytes in both engines. */
export async function listMemories(
  db: SqlRunner,
  key: MemoryStoreKey,
  { folder, after, limit }: MemoryRange,
): Promise<readonly MemoryRecord[]> {
  return await db.all<MemoryRecord>(sql`
    ${WITHOUT_CONTENT}
    where ${allOf([
      inStore(key),
      folder === undefined ? undefined : inFolder(folder),
      after === undefined ? undefined : behind(after),
    ])}
    order by m.path limit ${limit}`);
}

export async function findMemories(
  db: SqlRunner,
  key: MemoryStoreKey,
  ids: readonly string[],
): Promise<readonly MemoryRecord[]> {
  return await db.all<MemoryRecord>(sql`
    ${WITH_CONTENT} where ${inStore(key)} and m.id in ${oneOf(ids)}`);
}

export async function countMemories(tx: SqlTransaction, key: MemoryStoreKey): Promise<number> {
  const row = await tx.db.get<{ memories: number }>(sql`
    select count(*) as memories from memories m where ${inStore(key)}`);
  return row?.memories ?? 0;
}

/** See `MemoryStoreWriter`. */
export async function insertMemory(
  tx: SqlTransaction,
  memory: WholeMemory,
  by: Actor,
): Promise<void> {
  await addVersion(tx, "created", memory, by);
  await assertPathIsFree(tx, memory);
  const stored = await tx.db.get(sql`
    insert into memories (
      workspace_id, memory_store_id, id, memory_version_id, path, content_sha256,
      content_size_bytes, created_at, updated_at
    )
    values (
      ${memory.workspace_id}, ${memory.memory_store_id}, ${memory.id}, ${memory.memory_version_id},
      ${memory.path}, ${memory.content_sha256}, ${memory.content_size_bytes}, ${memory.created_at},
      ${memory.updated_at}
    )
    on conflict (workspace_id, memory_store_id, path) do nothing
    returning id`);
  if (stored === undefined) throw new MemoryPathConflictError({ id: "", path: memory.path });
}

/** See `MemoryStoreWriter`. */
export async function updateMemory(
  tx: SqlTransaction,
  memory: WholeMemory,
  by: Actor,
): Promise<void> {
  await addVersion(tx, "modified", memory, by);
  await assertPathIsFree(tx, memory);
  await tx.db.all(sql`
    update memories set
      memory_version_id = ${memory.memory_version_id}, path = ${memory.path},
      content_sha256 = ${memory.content_sha256}, content_size_bytes = ${memory.content_size_bytes},
      updated_at = ${memory.updated_at}
    where workspace_id = ${memory.workspace_id} and memory_store_id = ${memory.memory_store_id}
      and id = ${memory.id}`);
}

/** See `MemoryStoreWriter`. */
export async function deleteMemory(
  tx: SqlTransaction,
  memory: MemoryRecord,
  versionId: string,
  by: Actor,
): Promise<void> {
  await addVersion(tx, "deleted", { ...memory, memory_version_id: versionId, content: null }, by);
  await tx.db.all(sql`
    delete from memories
    where workspace_id = ${memory.workspace_id} and memory_store_id = ${memory.memory_store_id}
      and id = ${memory.id}`);
}

async function assertPathIsFree(tx: SqlTransaction, memory: MemoryRecord): Promise<void> {
  const { workspace_id: workspaceId, memory_store_id: storeId, id, path } = memory;
  const find = (condition: Query) =>
    tx.db.get<{ id: string; path: string }>(sql`
      select m.id, m.path from memories m
      where ${inStore({ workspaceId, storeId })} and ${condition} and m.id <> ${id}
      order by m.path limit 1`);
  // Two statements: joined by `or`, SQLite looks through the whole store.
  const above = await find(sql`m.path in ${oneOf([...ancestorsOf(path), path])}`);
  const other = above ?? (await find(inFolder(`${path}/`)));
  if (other !== undefined) throw new MemoryPathConflictError(other);
}

function inStore({ workspaceId, storeId }: MemoryStoreKey): Query {
  return sql`m.workspace_id = ${workspaceId} and m.memory_store_id = ${storeId}`;
}

function inFolder(folder: string): Query {
  return sql`m.path > ${folder} and m.path < ${endOf(folder)}`;
}

function behind(position: string): Query {
  return position.endsWith("/") ? sql`m.path >= ${endOf(position)}` : sql`m.path > ${position}`;
}
