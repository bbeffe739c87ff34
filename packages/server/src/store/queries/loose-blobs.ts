import type { LooseBlob } from "../../core/ports/records.ts";
import { type Query, type SqlTransaction, sql } from "../sql.ts";
import { canonical } from "./pages.ts";

/** See `LooseBlobs.add`. */
export async function addLooseBlob(
  tx: SqlTransaction,
  workspaceId: string,
  sha256: string,
): Promise<void> {
  await tx.db.all(sql`
    insert into loose_blobs (workspace_id, sha256, since)
    values (${workspaceId}, ${sha256}, ${tx.now})
    on conflict (workspace_id, sha256) do update set since = excluded.since`);
}

/** Notes the content of all rows, with a workspace and a hash each, that the condition chooses. */
export async function addLooseBlobsOf(
  tx: SqlTransaction,
  table: Query,
  condition: Query,
): Promise<void> {
  await tx.db.all(sql`
    insert into loose_blobs (workspace_id, sha256, since)
    select distinct workspace_id, sha256, ${tx.now} from ${table} where ${condition}
    on conflict (workspace_id, sha256) do update set since = excluded.since`);
}

/** See `LooseBlobs.list`. */
export async function listLooseBlobs(
  tx: SqlTransaction,
  before: string,
  limit: number,
): Promise<readonly LooseBlob[]> {
  const rows = await tx.db.all<{ workspace_id: string; sha256: string; since: string }>(sql`
    select workspace_id, sha256, since from loose_blobs
    where since < ${canonical(before)}
    order by since, workspace_id, sha256
    limit ${limit}`);
  return rows.map(({ workspace_id, ...blob }) => ({ workspaceId: workspace_id, ...blob }));
}

/** See `LooseBlobs.remove`. */
export async function removeLooseBlob(
  tx: SqlTransaction,
  { workspaceId, sha256, since }: LooseBlob,
): Promise<void> {
  await tx.db.all(sql`
    delete from loose_blobs
    where workspace_id = ${workspaceId} and sha256 = ${sha256} and since = ${since}`);
}
