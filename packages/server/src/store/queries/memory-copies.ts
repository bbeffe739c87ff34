import type { SessionKey } from "../../core/ports/event-log.ts";
import type { MemoryAcknowledgement } from "../../core/ports/memory-copies.ts";
import { fromJson, toJson } from "../json-column.ts";
import { type SqlRunner, type SqlTransaction, sql } from "../sql.ts";

/** See `MemoryStores.findCopy`. */
export async function findMemoryCopy(
  db: SqlRunner,
  { workspaceId, sessionId }: SessionKey,
): Promise<MemoryAcknowledgement | undefined> {
  const row = await db.get<{ copy_id: string; seq: number; refused: string }>(sql`
    select c.copy_id, c.seq, c.refused
    from sessions s join session_memory_copies c
      on c.workspace_id = s.workspace_id and c.session_key = s.session_key
    where s.workspace_id = ${workspaceId} and s.id = ${sessionId} and s.deleted_at is null`);
  return row === undefined ? undefined : { ...row, refused: fromJson(row.refused) };
}

/** See `MemoryStoreWriter.putCopy`. */
export async function putMemoryCopy(
  tx: SqlTransaction,
  { workspaceId, sessionId }: SessionKey,
  { copy_id, seq, refused }: MemoryAcknowledgement,
): Promise<void> {
  await tx.db.all(sql`
    insert into session_memory_copies (workspace_id, session_key, copy_id, seq, refused)
    select workspace_id, session_key, ${copy_id}, ${seq}, ${toJson(refused)} from sessions
    where workspace_id = ${workspaceId} and id = ${sessionId} and deleted_at is null
    on conflict (workspace_id, session_key) do update set
      copy_id = excluded.copy_id, seq = excluded.seq, refused = excluded.refused`);
}
