import type { AnsweredRequest } from "../../core/ports/records.ts";
import { type SqlTransaction, sql } from "../sql.ts";
import { canonical } from "./pages.ts";

export function findAnsweredRequest(
  tx: SqlTransaction,
  workspaceId: string,
  requestKey: string,
  since: string,
): Promise<AnsweredRequest | undefined> {
  return tx.db.get<AnsweredRequest>(sql`
    select workspace_id, request_key, attempt, status, body, created_at
    from answered_requests
    where workspace_id = ${workspaceId} and request_key = ${requestKey}
      and created_at >= ${canonical(since)}`);
}

/** The newest answer replaces an earlier one for the same key: nothing asks for that any more. */
export async function putAnsweredRequest(
  tx: SqlTransaction,
  request: AnsweredRequest,
): Promise<void> {
  const { workspace_id, request_key, attempt, status, body, created_at } = request;
  await tx.db.all(sql`
    insert into answered_requests (workspace_id, request_key, attempt, status, body, created_at)
    values (${workspace_id}, ${request_key}, ${attempt}, ${status}, ${body}, ${created_at})
    on conflict (workspace_id, request_key) do update set
      attempt = excluded.attempt, status = excluded.status, body = excluded.body,
      created_at = excluded.created_at`);
}

export async function pruneAnsweredRequests(
  tx: SqlTransaction,
  before: string,
  limit: number,
): Promise<void> {
  await tx.db.all(sql`
    delete from answered_requests where (workspace_id, request_key) in (
      select workspace_id, request_key from answered_requests
      where created_at < ${canonical(before)}
      order by created_at
      limit ${limit}
    )`);
}
