import { type Draft, encodeEvent, type LogColumns } from "../event-row.ts";
import { type SqlTransaction, sql } from "../sql.ts";
import { putContents } from "./event-contents.ts";

/** Whose log it is. */
interface LogOwner {
  readonly workspaceId: string;
  readonly sessionKey: number;
}

/** Puts an event at its place in the log, which whoever calls has taken for it. */
export async function insertEvent(
  tx: SqlTransaction,
  { workspaceId, sessionKey }: LogOwner,
  draft: Draft,
  { seq, processed_at, epoch }: LogColumns,
): Promise<void> {
  const { columns, contents } = encodeEvent(draft);
  await Promise.all([
    tx.db.all(sql`
      insert into events (
        session_key, seq, workspace_id, id, thread_id, cross_posted, type, v,
        processed_at, epoch, size, large, public, private
      ) values (
        ${sessionKey}, ${seq}, ${workspaceId}, ${columns.id}, ${columns.thread_id},
        ${columns.cross_posted}, ${columns.type}, ${columns.v}, ${processed_at}, ${epoch},
        ${columns.size}, ${columns.large}, ${columns.public}, ${columns.private}
      )`),
    putContents(tx, workspaceId, sessionKey, contents),
  ]);
}
