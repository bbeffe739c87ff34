import type { Actor, MemoryOperation, MemoryView } from "@drover/api";
import { unreachable } from "../../core/errors.ts";
import type {
  MemoryRecord,
  MemoryStoreKey,
  MemoryVersionListFilter,
  MemoryVersionRecord,
} from "../../core/ports/memory-stores.ts";
import { allOf, type Query, type SqlRunner, type SqlTransaction, sql } from "../sql.ts";
import { within } from "./pages.ts";

interface Row extends Omit<MemoryVersionRecord, "created_by" | "redacted_by"> {
  readonly created_by_type: Actor["type"];
  readonly created_by_id: string;
  readonly redacted_by_type: Actor["type"] | null;
  readonly redacted_by_id: string | null;
}

const COLUMNS = sql`
  v.workspace_id, v.memory_store_id, v.id, v.seq, v.memory_id, v.operation, v.path,
  v.content_sha256, v.content_size_bytes, v.created_at, v.created_by_type, v.created_by_id,
  v.redacted_at, v.redacted_by_type, v.redacted_by_id`;

const WITHOUT_CONTENT = sql`select ${COLUMNS}, null as content from memory_versions v`;
const WITH_CONTENT = sql`
  select ${COLUMNS}, c.content from memory_versions v
  left join memory_contents c on c.workspace_id = v.workspace_id
    and c.memory_store_id = v.memory_store_id and c.memory_version_id = v.id`;

export async function findVersion(
  db: SqlRunner,
  key: MemoryStoreKey,
  id: string,
  view: MemoryView,
): Promise<MemoryVersionRecord | undefined> {
  const row = await db.get<Row>(sql`
    ${view === "full" ? WITH_CONTENT : WITHOUT_CONTENT} where ${inStore(key)} and v.id = ${id}`);
  return row === undefined ? undefined : decode(row);
}

/** See `MemoryStores.listVersions`. */
export async function listVersions(
  db: SqlRunner,
  key: MemoryStoreKey,
  { memoryId, operation, createdBy = [], createdAt }: MemoryVersionListFilter,
  page: { readonly limit: number; readonly after?: number | undefined; readonly view: MemoryView },
): Promise<readonly MemoryVersionRecord[]> {
  const rows = await db.all<Row>(sql`
    ${page.view === "full" ? WITH_CONTENT : WITHOUT_CONTENT}
    where ${allOf([
      inStore(key),
      memoryId === undefined ? undefined : sql`v.memory_id = ${memoryId}`,
      operation === undefined ? undefined : sql`v.operation = ${operation}`,
      ...createdBy.map(
        (actor) => sql`v.created_by_type = ${actor.type} and v.created_by_id = ${actorId(actor)}`,
      ),
      within(sql`v.created_at`, createdAt),
      page.after === undefined ? undefined : sql`v.seq < ${page.after}`,
    ])}
    order by v.seq desc limit ${page.limit}`);
  return rows.map(decode);
}

/**
 * Adds the version that the memory names to the store's history. The first statement of every write
 * of a memory: it locks the store's row, so that what the write then reads stays true.
 */
export async function addVersion(
  tx: SqlTransaction,
  operation: MemoryOperation,
  memory: MemoryRecord,
  by: Actor,
): Promise<void> {
  const { workspace_id, memory_store_id, memory_version_id, content } = memory;
  const store = await tx.db.get<{ last_version: number }>(sql`
    update memory_stores set last_version = last_version + 1
    where workspace_id = ${workspace_id} and id = ${memory_store_id}
    returning last_version`);
  if (store === undefined) throw new Error(`there is no memory store ${memory_store_id}`);
  const isDeleted = operation === "deleted";
  await tx.db.all(sql`
    insert into memory_versions (
      workspace_id, memory_store_id, id, seq, memory_id, operation, path, content_sha256,
      content_size_bytes, created_at, created_by_type, created_by_id
    )
    values (
      ${workspace_id}, ${memory_store_id}, ${memory_version_id}, ${store.last_version}, ${memory.id},
      ${operation}, ${memory.path}, ${isDeleted ? null : memory.content_sha256},
      ${isDeleted ? null : memory.content_size_bytes}, ${tx.now}, ${by.type}, ${actorId(by)}
    )`);
  if (content === null) return;
  await tx.db.all(sql`
    insert into memory_contents (workspace_id, memory_store_id, memory_version_id, content)
    values (${workspace_id}, ${memory_store_id}, ${memory_version_id}, ${content})`);
}

/** See `MemoryStoreWriter.redactVersion`. */
export async function redactVersion(
  tx: SqlTransaction,
  { workspaceId, storeId }: MemoryStoreKey,
  id: string,
  by: Actor,
): Promise<void> {
  await tx.db.all(sql`
    update memory_versions set
      path = null, content_sha256 = null, content_size_bytes = null, redacted_at = ${tx.now},
      redacted_by_type = ${by.type}, redacted_by_id = ${actorId(by)}
    where workspace_id = ${workspaceId} and memory_store_id = ${storeId} and id = ${id}`);
  await tx.db.all(sql`
    delete from memory_contents
    where workspace_id = ${workspaceId} and memory_store_id = ${storeId}
      and memory_version_id = ${id}`);
}

function inStore({ workspaceId, storeId }: MemoryStoreKey): Query {
  return sql`v.workspace_id = ${workspaceId} and v.memory_store_id = ${storeId}`;
}

function decode({
  created_by_type,
  created_by_id,
  redacted_by_type,
  redacted_by_id,
  ...row
}: Row): MemoryVersionRecord {
  const isRedacted = redacted_by_type !== null && redacted_by_id !== null;
  return {
    ...row,
    created_by: actorOf(created_by_type, created_by_id),
    redacted_by: isRedacted ? actorOf(redacted_by_type, redacted_by_id) : null,
  };
}

function actorId(actor: Actor): string {
  switch (actor.type) {
    case "api_actor":
      return actor.api_key_id;
    case "session_actor":
      return actor.session_id;
    case "user_actor":
      return actor.user_id;
    case "service_account_actor":
      return actor.service_account_id;
    default:
      return unreachable(actor);
  }
}

function actorOf(type: Actor["type"], id: string): Actor {
  switch (type) {
    case "api_actor":
      return { type, api_key_id: id };
    case "session_actor":
      return { type, session_id: id };
    case "user_actor":
      return { type, user_id: id };
    case "service_account_actor":
      return { type, service_account_id: id };
    default:
      return unreachable(type);
  }
}
