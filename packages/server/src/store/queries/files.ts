import type { FileRecord } from "../../core/ports/records.ts";
import type { PageRequest } from "../../core/ports/sessions.ts";
import { allOf, oneOf, type Query, type SqlRunner, type SqlTransaction, sql } from "../sql.ts";
import { addLooseBlobsOf } from "./loose-blobs.ts";
import { afterPosition, canonical, pageEnd } from "./pages.ts";

type Row = Omit<FileRecord, "downloadable"> & { downloadable: number };

const COLUMNS = sql`
  workspace_id, id, filename, mime_type, size_bytes, sha256, created_at, expires_at, session_id,
  downloadable, output_path`;

/** Ids asked for in one statement; both engines bound the number of parameters. */
const IDS_AT_ONCE = 500;

export async function findFile(
  db: SqlRunner,
  workspaceId: string,
  id: string,
): Promise<FileRecord | undefined> {
  return (await findFiles(db, workspaceId, [id]))[0];
}

export async function findFiles(
  db: SqlRunner,
  workspaceId: string,
  ids: readonly string[],
): Promise<readonly FileRecord[]> {
  const files: FileRecord[] = [];
  for (let at = 0; at < ids.length; at += IDS_AT_ONCE) {
    const rows = await db.all<Row>(sql`
      select ${COLUMNS} from files
      where workspace_id = ${workspaceId} and id in ${oneOf(ids.slice(at, at + IDS_AT_ONCE))}
      order by created_at, id`);
    files.push(...rows.map(decode));
  }
  return files;
}

export async function listFiles(
  db: SqlRunner,
  workspaceId: string,
  { sessionId }: { sessionId?: string },
  page: PageRequest,
): Promise<readonly FileRecord[]> {
  const rows = await db.all<Row>(sql`
    select ${COLUMNS} from files
    where workspace_id = ${workspaceId} and ${allOf([
      sessionId === undefined ? undefined : sql`session_id = ${sessionId}`,
      afterPosition(page),
    ])}
    ${pageEnd(page)}`);
  return rows.map(decode);
}

export async function insertFile(tx: SqlTransaction, file: FileRecord): Promise<void> {
  await tx.db.all(sql`insert into files (${COLUMNS}) values ${valuesOf(file)}`);
}

/** See `FileWriter.putOutput`. An output keeps its id and place in lists when its content changes. */
export async function putOutputFile(tx: SqlTransaction, file: FileRecord): Promise<void> {
  const { workspace_id, session_id, output_path, sha256 } = file;
  await addLooseBlobsOf(
    tx,
    sql`files`,
    sql`workspace_id = ${workspace_id} and session_id = ${session_id}
      and output_path = ${output_path} and sha256 <> ${sha256}`,
  );
  await tx.db.all(sql`
    insert into files (${COLUMNS}) values ${valuesOf(file)}
    on conflict (workspace_id, session_id, output_path) do update set
      filename = excluded.filename, mime_type = excluded.mime_type,
      size_bytes = excluded.size_bytes, sha256 = excluded.sha256,
      expires_at = excluded.expires_at, downloadable = excluded.downloadable`);
}

export async function deleteFile(
  tx: SqlTransaction,
  workspaceId: string,
  id: string,
): Promise<void> {
  await deleteFiles(tx, workspaceId, sql`id = ${id}`);
}

export async function deleteFilesOfSession(
  tx: SqlTransaction,
  workspaceId: string,
  sessionId: string,
): Promise<void> {
  await deleteFiles(tx, workspaceId, sql`session_id = ${sessionId}`);
}

async function deleteFiles(
  tx: SqlTransaction,
  workspaceId: string,
  condition: Query,
): Promise<void> {
  await addLooseBlobsOf(
    tx,
    sql`files`,
    sql`workspace_id = ${workspaceId} and ${condition} and sha256 <> ''`,
  );
  await tx.db.all(sql`delete from files where workspace_id = ${workspaceId} and ${condition}`);
}

/** See `FileWriter.purgeExpired`. */
export async function purgeExpiredFiles(
  tx: SqlTransaction,
  before: string,
  limit: number,
): Promise<number> {
  const expired = await listExpiredFiles(tx, before, limit);
  for (const { workspace_id, id } of expired) {
    await addLooseBlobsOf(tx, sql`files`, sql`workspace_id = ${workspace_id} and id = ${id}`);
    await tx.db.all(sql`
      update files set sha256 = '' where workspace_id = ${workspace_id} and id = ${id}`);
  }
  return expired.length;
}

async function listExpiredFiles(
  tx: SqlTransaction,
  before: string,
  limit: number,
): Promise<readonly { workspace_id: string; id: string }[]> {
  return await tx.db.all(sql`
    select workspace_id, id from files
    where expires_at < ${canonical(before)} and sha256 <> ''
    order by expires_at limit ${limit}`);
}

/** See `FileWriter.contentBytes`. */
export async function countContentBytes(tx: SqlTransaction, workspaceId: string): Promise<number> {
  const row = await tx.db.get<{ bytes: number | string }>(sql`
    select coalesce(sum(size_bytes), 0) as bytes from (
      select distinct sha256, size_bytes from files
      where workspace_id = ${workspaceId} and sha256 <> ''
    ) as contents`);
  // A sum of integers is a numeric in PostgreSQL, which comes as text.
  return Number(row?.bytes ?? 0);
}

/** See `FileWriter.isReferenced`. */
export async function isContentReferenced(
  tx: SqlTransaction,
  workspaceId: string,
  sha256: string,
): Promise<boolean> {
  const found = await tx.db.all(sql`
    select 1 as found where
      exists (select 1 from files where workspace_id = ${workspaceId} and sha256 = ${sha256})
      or exists (select 1 from recipe_blobs where workspace_id = ${workspaceId} and sha256 = ${sha256})
      or exists (select 1 from skill_versions where workspace_id = ${workspaceId} and sha256 = ${sha256})
      or exists (
        select 1 from hands
        where workspace_id = ${workspaceId} and checkpoint_sha256 = ${sha256}
      )`);
  return found.length > 0;
}

function valuesOf(file: FileRecord) {
  return sql`(
    ${file.workspace_id}, ${file.id}, ${file.filename}, ${file.mime_type}, ${file.size_bytes},
    ${file.sha256}, ${file.created_at}, ${file.expires_at}, ${file.session_id},
    ${file.downloadable ? 1 : 0}, ${file.output_path})`;
}

function decode(row: Row): FileRecord {
  return { ...row, downloadable: row.downloadable === 1 };
}
