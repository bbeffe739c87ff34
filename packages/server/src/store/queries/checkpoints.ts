import type { Checkpoint, SessionKey } from "../../core/ports/event-log.ts";
import { type SqlRunner, type SqlTransaction, sql } from "../sql.ts";

export async function putCheckpoint(
  tx: SqlTransaction,
  workspaceId: string,
  sessionKey: number,
  { fold, seq, state }: Checkpoint,
): Promise<void> {
  await tx.db.all(sql`
    insert into checkpoints (session_key, workspace_id, fold, seq, state)
    values (${sessionKey}, ${workspaceId}, ${fold}, ${seq}, ${state})
    on conflict (session_key) do update
      set fold = excluded.fold, seq = excluded.seq, state = excluded.state`);
}

export function findCheckpoint(db: SqlRunner, key: SessionKey): Promise<Checkpoint | undefined> {
  return db.get<Checkpoint>(sql`
    select c.fold, c.seq, c.state
    from sessions s join checkpoints c on c.session_key = s.session_key
    where s.workspace_id = ${key.workspaceId} and s.id = ${key.sessionId}`);
}
