import type { SessionKey } from "../../core/ports/event-log.ts";
import type { NewSession, SessionPatch, SessionRecord } from "../../core/ports/sessions.ts";
import { toJson } from "../json-column.ts";
import { decodeSession, type SessionRow } from "../session-row.ts";
import { type SqlRunner, type SqlTransaction, sql } from "../sql.ts";
import { removeHand } from "./hands.ts";
import { addLooseBlobsOf } from "./loose-blobs.ts";

const COLUMNS = sql`
  s.session_key, s.workspace_id, s.id, s.thread_id, s.hand_id, s.environment_id, s.agent_id,
  s.agent_version, s.status, s.totals, s.created_at, s.updated_at, s.archived_at, s.deleted_at,
  s.last_seq, s.input_seq, s.input_at, d.title, d.metadata, d.agent, d.resources, d.vault_ids, d.budget,
  d.recipe, d.created_by`;

export async function findSession(
  db: SqlRunner,
  key: SessionKey,
): Promise<SessionRecord | undefined> {
  const row = await db.get<SessionRow>(sql`
    select ${COLUMNS}
    from sessions s left join session_definitions d on d.session_key = s.session_key
    where s.workspace_id = ${key.workspaceId} and s.id = ${key.sessionId}`);
  return row === undefined ? undefined : decodeSession(row);
}

/** See `SessionWriter.insert`. */
export async function insertSession(tx: SqlTransaction, session: NewSession): Promise<void> {
  await insertDefinition(tx, session, await insertSessionRow(tx, session));
}

/** Answers the row's key. */
export async function insertSessionRow(tx: SqlTransaction, session: NewSession): Promise<number> {
  const { workspace_id, id, agent, totals, created_at } = session;
  const row = await tx.db.get<{ session_key: number }>(sql`
    insert into sessions (
      workspace_id, id, thread_id, hand_id, environment_id, agent_id, agent_version, status, totals,
      created_at, updated_at, last_seq, last_processed_at, last_arrival, woken, epoch, claims,
      hand_disposed
    ) values (
      ${workspace_id}, ${id}, ${session.thread_id}, ${session.hand_id}, ${session.environment_id},
      ${agent.id}, ${agent.version}, ${session.status}, ${toJson(totals)},
      ${created_at}, ${created_at}, 0, '', 0, 0, 0, 0,
      0
    ) returning session_key`);
  if (row === undefined) throw new Error(`session ${id} was not inserted`);
  return row.session_key;
}

/** What the session was made with, and what it refers to. */
export async function insertDefinition(
  tx: SqlTransaction,
  session: NewSession,
  sessionKey: number,
): Promise<void> {
  const { workspace_id, agent } = session;
  await tx.db.all(sql`
    insert into session_definitions (
      session_key, workspace_id, title, metadata, agent, resources, vault_ids, budget, recipe,
      created_by
    ) values (
      ${sessionKey}, ${workspace_id}, ${session.title}, ${toJson(session.metadata)},
      ${toJson(agent)}, ${toJson(session.resources)}, ${toJson(session.vault_ids)},
      ${nullableJson(session.budget)}, ${toJson(session.recipe)}, ${session.created_by ?? null}
    )`);
  await putRecipeBlobs(tx, workspace_id, sessionKey, session.recipe);
  await putMemoryStores(tx, session, sessionKey);
}

/** See `SessionWriter.update`. Absent fields stay. */
export async function updateSession(
  tx: SqlTransaction,
  key: SessionKey,
  patch: SessionPatch,
): Promise<void> {
  const { agent, archived_at: archivedAt, budget, title } = patch;
  const row = await tx.db.get<{ session_key: number; last_seq: number }>(sql`
    update sessions set
      status = coalesce(${patch.status ?? null}, status),
      updated_at = coalesce(${patch.updated_at ?? null}, updated_at),
      archived_at = case when ${archivedAt === undefined ? 1 : 0} = 1 then archived_at else ${archivedAt ?? null} end,
      agent_id = coalesce(${agent?.id ?? null}, agent_id),
      agent_version = coalesce(${agent?.version ?? null}, agent_version)
    where workspace_id = ${key.workspaceId} and id = ${key.sessionId} and deleted_at is null
    returning session_key, last_seq`);
  if (row === undefined) throw new Error(`there is no session ${key.sessionId} to update`);
  tx.touched.add(key, { lastSeq: row.last_seq, due: false });
  await tx.db.all(sql`
    update session_definitions set
      title = case when ${title === undefined ? 1 : 0} = 1 then title else ${title ?? null} end,
      metadata = coalesce(${optionalJson(patch.metadata)}, metadata),
      agent = coalesce(${optionalJson(agent)}, agent),
      budget = case when ${budget === undefined ? 1 : 0} = 1 then budget else ${nullableJson(budget ?? null)} end,
      resources = coalesce(${optionalJson(patch.resources)}, resources),
      recipe = coalesce(${optionalJson(patch.recipe)}, recipe)
    where session_key = ${row.session_key}`);
  if (archivedAt !== undefined) {
    await tx.db.all(sql`
      update session_memory_stores set archived_at = ${archivedAt}
      where session_key = ${row.session_key}`);
  }
  if (patch.recipe === undefined) return;
  await deleteRecipeBlobs(tx, row.session_key);
  await putRecipeBlobs(tx, key.workspaceId, row.session_key, patch.recipe);
}

/** See `SessionWriter.delete`. A hand that never got a call has nothing to be disposed of. */
export async function deleteSession(tx: SqlTransaction, key: SessionKey): Promise<void> {
  const row = await tx.db.get<{ session_key: number; hand_id: string; last_seq: number }>(sql`
    update sessions set
      deleted_at = ${tx.now}, wake_at = null, lease_holder = null, lease_expires_at = null,
      input_seq = null, input_at = null,
      hand_disposed = case when exists (
        select 1 from events e
        where e.session_key = sessions.session_key and e.type = 'drover.call_started'
      ) or exists (
        select 1 from hands h
        where h.workspace_id = sessions.workspace_id and h.hand_id = sessions.hand_id
      ) then 0 else 1 end
    where workspace_id = ${key.workspaceId} and id = ${key.sessionId} and deleted_at is null
    returning session_key, hand_id, last_seq`);
  if (row === undefined) return;
  const { session_key: sessionKey, last_seq: lastSeq } = row;
  await removeHand(tx, key.workspaceId, row.hand_id);
  await tx.db.all(sql`delete from events where session_key = ${sessionKey}`);
  await tx.db.all(sql`delete from event_contents where session_key = ${sessionKey}`);
  await tx.db.all(sql`delete from inbox where session_key = ${sessionKey}`);
  await tx.db.all(sql`delete from checkpoints where session_key = ${sessionKey}`);
  await deleteRecipeBlobs(tx, sessionKey);
  await tx.db.all(sql`
    delete from session_repository_tokens
    where workspace_id = ${key.workspaceId} and session_key = ${sessionKey}`);
  await tx.db.all(sql`
    delete from session_memory_copies
    where workspace_id = ${key.workspaceId} and session_key = ${sessionKey}`);
  await tx.db.all(sql`delete from session_memory_stores where session_key = ${sessionKey}`);
  await tx.db.all(sql`delete from session_definitions where session_key = ${sessionKey}`);
  tx.touched.add(key, { lastSeq, due: false });
}

/** See `SessionWriter.swapHands`. */
export async function swapHands(
  tx: SqlTransaction,
  workspaceId: string,
  [one, other]: readonly [string, string],
): Promise<void> {
  const handOf = async (id: string) => {
    const row = await tx.db.get<{ hand_id: string }>(sql`
      select hand_id from sessions
      where workspace_id = ${workspaceId} and id = ${id} and deleted_at is null`);
    if (row === undefined) throw new Error(`there is no session ${id} to swap hands with`);
    return row.hand_id;
  };
  const hands = [await handOf(other), await handOf(one)];
  for (const [index, id] of [one, other].entries()) {
    await tx.db.all(sql`
      update sessions set
        hand_id = ${hands[index] ?? ""}, epoch = epoch + 1, lease_holder = null,
        lease_expires_at = null
      where workspace_id = ${workspaceId} and id = ${id}`);
  }
}

/** See `SessionReader.findRepositoryToken`. */
export async function findRepositoryToken(
  db: SqlRunner,
  key: SessionKey,
  resourceId: string,
): Promise<string | undefined> {
  const row = await db.get<{ token_sealed: string }>(sql`
    select t.token_sealed
    from sessions s join session_repository_tokens t
      on t.workspace_id = s.workspace_id and t.session_key = s.session_key
    where s.workspace_id = ${key.workspaceId} and s.id = ${key.sessionId}
      and t.resource_id = ${resourceId}`);
  return row?.token_sealed;
}

/** See `SessionWriter.putRepositoryToken`. */
export async function putRepositoryToken(
  tx: SqlTransaction,
  key: SessionKey,
  { resourceId, sealed }: { resourceId: string; sealed: string },
): Promise<void> {
  await tx.db.all(sql`
    insert into session_repository_tokens (workspace_id, session_key, resource_id, token_sealed)
    select workspace_id, session_key, ${resourceId}, ${sealed} from sessions
    where workspace_id = ${key.workspaceId} and id = ${key.sessionId} and deleted_at is null
    on conflict (workspace_id, session_key, resource_id)
      do update set token_sealed = excluded.token_sealed`);
}

/** See `SessionWriter.attachStream`. */
export async function attachStream(
  tx: SqlTransaction,
  key: SessionKey,
  withinMs: number,
): Promise<number | undefined> {
  const row = await tx.db.get<{ input_seq: number; input_at: string }>(sql`
    select input_seq, input_at from sessions
    where workspace_id = ${key.workspaceId} and id = ${key.sessionId} and input_seq is not null`);
  if (row === undefined) return undefined;
  await tx.db.all(sql`
    update sessions set input_seq = null
    where workspace_id = ${key.workspaceId} and id = ${key.sessionId}`);
  return Date.parse(row.input_at) + withinMs >= Date.parse(tx.now) ? row.input_seq : undefined;
}

/** See `SessionWriter.attendInput`. Newer input may not have been seen. */
export async function attendInput(
  tx: SqlTransaction,
  key: SessionKey,
  until: string,
): Promise<void> {
  await tx.db.all(sql`
    update sessions set input_seq = null
    where workspace_id = ${key.workspaceId} and id = ${key.sessionId} and input_at <= ${until}`);
}

async function putRecipeBlobs(
  tx: SqlTransaction,
  workspaceId: string,
  sessionKey: number,
  recipe: SessionRecord["recipe"],
): Promise<void> {
  const contents = [
    ...recipe.mounts.filter((mount) => mount.type !== "memory_store"),
    ...(recipe.checkpoint === undefined ? [] : [recipe.checkpoint]),
  ];
  for (const sha256 of new Set(contents.map((content) => content.sha256))) {
    await tx.db.all(sql`
      insert into recipe_blobs (workspace_id, sha256, session_key)
      values (${workspaceId}, ${sha256}, ${sessionKey})`);
  }
}

async function putMemoryStores(
  tx: SqlTransaction,
  { workspace_id, id, created_at, resources }: NewSession,
  sessionKey: number,
): Promise<void> {
  for (const { memory_store_id: storeId } of resources) {
    if (typeof storeId !== "string") continue;
    await tx.db.all(sql`
      insert into session_memory_stores (
        workspace_id, memory_store_id, session_key, session_id, created_at
      ) values (${workspace_id}, ${storeId}, ${sessionKey}, ${id}, ${created_at})`);
  }
}

/** What only they referred to becomes loose. */
export async function deleteRecipeBlobs(tx: SqlTransaction, sessionKey: number): Promise<void> {
  await addLooseBlobsOf(tx, sql`recipe_blobs`, sql`session_key = ${sessionKey}`);
  await tx.db.all(sql`delete from recipe_blobs where session_key = ${sessionKey}`);
}

function optionalJson(value: unknown): string | null {
  return value === undefined ? null : toJson(value);
}

function nullableJson(value: unknown): string | null {
  return value === null ? null : toJson(value);
}
