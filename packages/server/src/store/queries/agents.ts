import { ConflictError } from "../../core/errors.ts";
import type { AgentListFilter, AgentRecord } from "../../core/ports/records.ts";
import type { PageRequest } from "../../core/ports/sessions.ts";
import { fromJson, toJson } from "../json-column.ts";
import { allOf, type SqlRunner, type SqlTransaction, sql } from "../sql.ts";
import { afterPosition, pageEnd, within } from "./pages.ts";

type Row = Omit<AgentRecord, "body"> & { body: string };

const VERSION_COLUMNS = sql`
  v.workspace_id, v.id, v.version, a.created_at, v.updated_at, a.archived_at, v.body`;

export async function findAgent(
  db: SqlRunner,
  workspaceId: string,
  id: string,
  version?: number,
): Promise<AgentRecord | undefined> {
  const row = await db.get<Row>(sql`
    select ${VERSION_COLUMNS}
    from agents a join agent_versions v
      on v.workspace_id = a.workspace_id and v.id = a.id
      and v.version = coalesce(${version ?? null}, a.version)
    where a.workspace_id = ${workspaceId} and a.id = ${id}`);
  return row === undefined ? undefined : decode(row);
}

export async function listAgents(
  db: SqlRunner,
  workspaceId: string,
  { createdAt, includeArchived }: AgentListFilter,
  page: PageRequest,
): Promise<readonly AgentRecord[]> {
  const rows = await db.all<Row>(sql`
    with page as (
      select * from agents
      where workspace_id = ${workspaceId} and ${allOf([
        within(sql`created_at`, createdAt),
        includeArchived === true ? undefined : sql`archived_at is null`,
        afterPosition(page),
      ])}
      ${pageEnd(page)}
    ), latest as (
      select ${VERSION_COLUMNS}
      from page a join agent_versions v
        on v.workspace_id = a.workspace_id and v.id = a.id and v.version = a.version
    )
    select * from latest ${pageEnd(page)}`);
  return rows.map(decode);
}

export async function listAgentVersions(
  db: SqlRunner,
  workspaceId: string,
  id: string,
  { limit, after }: { limit: number; after?: number },
): Promise<readonly AgentRecord[]> {
  const rows = await db.all<Row>(sql`
    select ${VERSION_COLUMNS}
    from agents a join agent_versions v on v.workspace_id = a.workspace_id and v.id = a.id
    where a.workspace_id = ${workspaceId} and a.id = ${id}
      and ${allOf([after === undefined ? undefined : sql`v.version < ${after}`])}
    order by v.version desc
    limit ${limit}`);
  return rows.map(decode);
}

/** See `AgentWriter.put`. */
export async function putAgent(tx: SqlTransaction, agent: AgentRecord): Promise<void> {
  const { workspace_id, id, version, created_at, updated_at, archived_at } = agent;
  const stored = await tx.db.get(sql`
    insert into agents (workspace_id, id, version, created_at, updated_at, archived_at)
    values (${workspace_id}, ${id}, ${version}, ${created_at}, ${updated_at}, ${archived_at})
    on conflict (workspace_id, id) do update
      set version = excluded.version, updated_at = excluded.updated_at
      where agents.version < excluded.version
    returning id`);
  if (stored === undefined) {
    throw new ConflictError(`Agent ${id} has a version ${version} or a later one already.`);
  }
  await tx.db.all(sql`
    insert into agent_versions (workspace_id, id, version, updated_at, body)
    values (${workspace_id}, ${id}, ${version}, ${updated_at}, ${toJson(agent.body)})`);
}

export async function archiveAgent(
  tx: SqlTransaction,
  workspaceId: string,
  id: string,
  archivedAt: string,
): Promise<void> {
  await tx.db.all(sql`
    update agents set archived_at = ${archivedAt}
    where workspace_id = ${workspaceId} and id = ${id}`);
}

function decode(row: Row): AgentRecord {
  return { ...row, body: fromJson(row.body) };
}
