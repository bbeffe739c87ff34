import type {
  PageRequest,
  SessionListFilter,
  SessionStatus,
  SessionSummary,
} from "../../core/ports/sessions.ts";
import { decodeSummary, type SessionSummaryRow } from "../session-row.ts";
import { allOf, joined, type Query, type SqlRunner, sql } from "../sql.ts";
import { afterPosition, pageEnd, within } from "./pages.ts";

/** What a page of sessions is ordered by; and where the rows of `session_memory_stores` keep the same. */
const CREATED = { created_at: sql`s.created_at`, id: sql`s.id` };
const ATTACHED = { created_at: sql`m.created_at`, id: sql`m.session_id` };

/** Sessions of which an index holds all and nothing else. */
interface Kind {
  readonly condition: Query;
  /** True where there are few of them, however many sessions there are. */
  readonly isRare: boolean;
  readonly isArchived: boolean;
}

/**
 * See `SessionReader.list`. The page is chosen on narrow tables, from the first rows of each kind, each
 * in the order of an index; definitions are read for the page's rows alone.
 */
export async function listSessions(
  db: SqlRunner,
  workspaceId: string,
  filter: SessionListFilter,
  page: PageRequest,
): Promise<readonly SessionSummary[]> {
  const firstOfEach = kindsOf(filter).map(
    (kind) => sql`select * from (${firstOf(kind, workspaceId, filter, page)}) kind`,
  );
  const rows = await db.all<SessionSummaryRow>(sql`
    with page as (
      select * from (${joined(firstOfEach, " union all ") ?? sql`select * from sessions where workspace_id = ${workspaceId} and 1 = 0`}) s
      ${pageEnd(page, CREATED)}
    )
    select
      s.workspace_id, s.id, s.thread_id, s.hand_id, s.environment_id, s.agent_id, s.agent_version,
      s.status, s.totals, s.created_at, s.updated_at, s.archived_at, s.deleted_at, s.last_seq,
      s.input_seq, s.input_at, d.title, d.metadata, d.agent, d.resources, d.vault_ids,
      d.budget
    from page s left join session_definitions d on d.session_key = s.session_key
    ${pageEnd(page, CREATED)}`);
  return rows.map(decodeSummary);
}

function firstOf(
  kind: Kind,
  workspaceId: string,
  filter: SessionListFilter,
  page: PageRequest,
): Query {
  const { agentId, agentVersion, memoryStoreId, createdAt } = filter;
  const isByStore = memoryStoreId !== undefined && !kind.isRare;
  const place = isByStore ? ATTACHED : CREATED;
  const hasStore = (id: string) => sql`exists (
    select 1 from session_memory_stores m
    where m.workspace_id = ${workspaceId} and m.session_key = s.session_key
      and m.memory_store_id = ${id})`;
  const conditions = [
    kind.condition,
    agentId === undefined ? undefined : sql`s.agent_id = ${agentId}`,
    agentVersion === undefined ? undefined : sql`s.agent_version = ${agentVersion}`,
    memoryStoreId === undefined || isByStore ? undefined : hasStore(memoryStoreId),
    within(place.created_at, createdAt),
    afterPosition(page, place),
  ];
  const source = isByStore
    ? sql`
        from session_memory_stores m join sessions s on s.session_key = m.session_key
        where m.workspace_id = ${workspaceId} and m.memory_store_id = ${memoryStoreId}
          and ${kind.isArchived ? sql`m.archived_at is not null` : sql`m.archived_at is null`}`
    : sql`from sessions s where s.workspace_id = ${workspaceId} and s.deleted_at is null`;
  return sql`select s.* ${source} and ${allOf(conditions)} ${pageEnd(page, place)}`;
}

/**
 * The kinds that are asked for; no session is of two of them. Their words stand in the text and not as
 * parameters, or no partial index could be used.
 */
function kindsOf({ statuses, includeArchived }: SessionListFilter): readonly Kind[] {
  const live: readonly Kind[] =
    statuses === undefined
      ? [{ condition: sql`s.archived_at is null`, isRare: false, isArchived: false }]
      : [...new Set(statuses)].map(liveWith);
  if (includeArchived !== true || statuses?.includes("terminated") === false) return live;
  const condition = sql`s.archived_at is not null`;
  return [...live, { condition, isRare: false, isArchived: true }];
}

function liveWith(status: SessionStatus): Kind {
  const isRare = status !== "idle";
  const condition = isRare
    ? sql`s.archived_at is null and s.status <> 'idle' and s.status = ${status}`
    : sql`s.archived_at is null and s.status = 'idle'`;
  return { condition, isRare, isArchived: false };
}
