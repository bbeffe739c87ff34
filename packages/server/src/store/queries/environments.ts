import { ConflictError } from "../../core/errors.ts";
import type { EnvironmentRecord } from "../../core/ports/records.ts";
import type { PageRequest } from "../../core/ports/sessions.ts";
import { fromJson, toJson } from "../json-column.ts";
import { allOf, type SqlRunner, type SqlTransaction, sql } from "../sql.ts";
import { afterPosition, pageEnd } from "./pages.ts";

type Row = Omit<EnvironmentRecord, "body"> & { body: string };

const COLUMNS = sql`workspace_id, id, name, created_at, updated_at, archived_at, body`;

export async function findEnvironment(
  db: SqlRunner,
  workspaceId: string,
  id: string,
): Promise<EnvironmentRecord | undefined> {
  const row = await db.get<Row>(sql`
    select ${COLUMNS} from environments where workspace_id = ${workspaceId} and id = ${id}`);
  return row === undefined ? undefined : decode(row);
}

export async function listEnvironments(
  db: SqlRunner,
  workspaceId: string,
  { includeArchived }: { includeArchived?: boolean },
  page: PageRequest,
): Promise<readonly EnvironmentRecord[]> {
  const rows = await db.all<Row>(sql`
    select ${COLUMNS} from environments
    where workspace_id = ${workspaceId} and ${allOf([
      includeArchived === true ? undefined : sql`archived_at is null`,
      afterPosition(page),
    ])}
    ${pageEnd(page)}`);
  return rows.map(decode);
}

/** See `EnvironmentWriter.insert`. */
export async function insertEnvironment(
  tx: SqlTransaction,
  environment: EnvironmentRecord,
): Promise<void> {
  const { workspace_id, id, name, created_at, updated_at, archived_at, body } = environment;
  const stored = await tx.db.get(sql`
    insert into environments (${COLUMNS})
    values (
      ${workspace_id}, ${id}, ${name}, ${created_at}, ${updated_at}, ${archived_at}, ${toJson(body)}
    )
    on conflict (workspace_id, name) where archived_at is null do nothing
    returning id`);
  if (stored === undefined) throw nameTaken(name);
}

/** See `EnvironmentWriter.update`. */
export async function updateEnvironment(
  tx: SqlTransaction,
  environment: EnvironmentRecord,
): Promise<void> {
  const { workspace_id, id, name, updated_at, archived_at, body } = environment;
  const other = await tx.db.get(sql`
    select id from environments
    where workspace_id = ${workspace_id} and name = ${name} and id <> ${id} and archived_at is null`);
  if (other !== undefined && archived_at === null) throw nameTaken(name);
  await tx.db.all(sql`
    update environments set
      name = ${name}, updated_at = ${updated_at}, archived_at = ${archived_at}, body = ${toJson(body)}
    where workspace_id = ${workspace_id} and id = ${id}`);
}

export async function deleteEnvironment(
  tx: SqlTransaction,
  workspaceId: string,
  id: string,
): Promise<void> {
  await tx.db.all(sql`delete from environments where workspace_id = ${workspaceId} and id = ${id}`);
}

export async function isEnvironmentUsed(
  tx: SqlTransaction,
  workspaceId: string,
  id: string,
): Promise<boolean> {
  const session = await tx.db.get(sql`
    select 1 as used from sessions
    where workspace_id = ${workspaceId} and environment_id = ${id} and deleted_at is null
    limit 1`);
  return session !== undefined;
}

function nameTaken(name: string): ConflictError {
  return new ConflictError(`There is an environment named ${JSON.stringify(name)} already.`);
}

function decode(row: Row): EnvironmentRecord {
  return { ...row, body: fromJson(row.body) };
}
