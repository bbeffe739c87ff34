import type { SessionKey } from "../../core/ports/event-log.ts";
import type { UndisposedHand } from "../../core/ports/sessions.ts";
import { type SqlTransaction, sql } from "../sql.ts";

interface Row {
  readonly workspace_id: string;
  readonly id: string;
  readonly hand_id: string;
  readonly deleted_at: string;
}

/** See `SessionWriter.listUndisposed`. Its condition is that of a partial index. */
export async function listUndisposed(
  tx: SqlTransaction,
  { limit, after }: { limit: number; after?: UndisposedHand },
): Promise<readonly UndisposedHand[]> {
  const rows = await tx.db.all<Row>(sql`
    select workspace_id, id, hand_id, deleted_at from sessions
    where deleted_at is not null and hand_disposed = 0
      and (deleted_at, id) > (${after?.deletedAt ?? ""}, ${after?.sessionId ?? ""})
    order by deleted_at, id
    limit ${limit}`);
  return rows.map((row) => ({
    workspaceId: row.workspace_id,
    sessionId: row.id,
    handId: row.hand_id,
    deletedAt: row.deleted_at,
  }));
}

/** See `SessionWriter.setDisposed`. */
export async function setDisposed(tx: SqlTransaction, key: SessionKey): Promise<void> {
  await tx.db.all(sql`
    update sessions set hand_disposed = 1
    where workspace_id = ${key.workspaceId} and id = ${key.sessionId} and deleted_at is not null`);
}
