import { ConflictError } from "../../core/errors.ts";
import type { SessionKey } from "../../core/ports/event-log.ts";
import type { FinishedCopy, SessionCopies } from "../../core/ports/session-copies.ts";
import type { NewSession } from "../../core/ports/sessions.ts";
import type { LogEvent } from "../../core/session/log-event.ts";
import { toJson } from "../json-column.ts";
import { oneOf, type SqlTransaction, sql } from "../sql.ts";
import { putCheckpoint } from "./checkpoints.ts";
import { insertEvent } from "./insert-event.ts";
import { canonical } from "./pages.ts";
import { deleteRecipeBlobs, insertDefinition, insertSessionRow } from "./sessions.ts";

/** Ids asked for in one statement; both engines bound the number of parameters. */
const IDS_AT_ONCE = 500;

export function sessionCopies(tx: SqlTransaction): SessionCopies {
  return {
    begin: (session) => beginCopy(tx, session),
    add: (key, events) => addCopied(tx, key, events),
    hold: (key, sha256) => holdContent(tx, key, sha256),
    finish: (session) => finishCopy(tx, session),
    listAbandoned: (before, limit) => listAbandonedCopies(tx, before, limit),
    discard: (key, limit) => discardCopy(tx, key, limit),
  };
}

async function beginCopy(tx: SqlTransaction, session: NewSession): Promise<void> {
  const { workspace_id, id } = session;
  if (await isTaken(tx, id)) throw new ConflictError(`there is or was a session ${id} here`);
  const sessionKey = await insertSessionRow(tx, session);
  await tx.db.all(sql`
    update sessions set deleted_at = ${tx.now}, hand_disposed = 1
    where session_key = ${sessionKey}`);
  await tx.db.all(sql`
    insert into session_copies (session_key, workspace_id, session_id, touched_at)
    values (${sessionKey}, ${workspace_id}, ${id}, ${tx.now})`);
}

/** In any workspace: outside of the store, sessions are known by their ids alone. */
async function isTaken(tx: SqlTransaction, id: string): Promise<boolean> {
  const taken = await tx.db.get(sql`select session_key from sessions where id = ${id} limit 1`);
  return taken !== undefined;
}

async function addCopied(
  tx: SqlTransaction,
  key: SessionKey,
  events: readonly LogEvent[],
): Promise<void> {
  const sessionKey = await touch(tx, key);
  const last = events.at(-1);
  if (last === undefined) return;
  await assertFree(tx, key, events);
  const place = await tx.db.get<{ last_seq: number }>(sql`
    update sessions set
      last_seq = last_seq + ${events.length}, last_processed_at = ${last.processed_at}
    where session_key = ${sessionKey}
    returning last_seq`);
  let seq = (place?.last_seq ?? 0) - events.length;
  const owner = { workspaceId: key.workspaceId, sessionKey };
  const sent: Promise<unknown>[] = [];
  for (const event of events) {
    seq += 1;
    sent.push(insertEvent(tx, owner, event, { ...event, seq }));
  }
  await Promise.all(sent);
}

/** A conflict of ids must be the caller's error, and on PostgreSQL a failed statement ends the work. */
async function assertFree(
  tx: SqlTransaction,
  { workspaceId }: SessionKey,
  events: readonly LogEvent[],
): Promise<void> {
  const ids = events.map(({ id }) => id);
  for (let at = 0; at < ids.length; at += IDS_AT_ONCE) {
    const some = oneOf(ids.slice(at, at + IDS_AT_ONCE));
    const taken = await tx.db.get<{ id: string }>(sql`
      select id from events where workspace_id = ${workspaceId} and id in ${some}
      union all
      select id from inbox where workspace_id = ${workspaceId} and id in ${some}
      limit 1`);
    if (taken !== undefined) throw new ConflictError(`there is an event ${taken.id} here already`);
  }
  if (new Set(ids).size !== ids.length) throw new ConflictError("an event's id comes twice");
}

/** As a mount does, until the copy's own recipe takes that place. */
async function holdContent(tx: SqlTransaction, key: SessionKey, sha256: string): Promise<void> {
  const sessionKey = await touch(tx, key);
  await tx.db.all(sql`
    insert into recipe_blobs (workspace_id, sha256, session_key)
    values (${key.workspaceId}, ${sha256}, ${sessionKey})
    on conflict (workspace_id, sha256, session_key) do nothing`);
}

async function finishCopy(tx: SqlTransaction, session: FinishedCopy): Promise<void> {
  const { workspace_id, id, agent } = session;
  const key = { workspaceId: workspace_id, sessionId: id };
  const sessionKey = await touch(tx, key);
  const row = await tx.db.get<{ last_seq: number }>(sql`
    update sessions set
      deleted_at = null, hand_disposed = 0, thread_id = ${session.thread_id},
      hand_id = ${session.hand_id}, environment_id = ${session.environment_id},
      agent_id = ${agent.id}, agent_version = ${agent.version}, status = ${session.status},
      totals = ${toJson(session.totals)}, created_at = ${session.created_at},
      updated_at = ${session.updated_at}, archived_at = ${session.archived_at}, epoch = ${session.epoch}
    where session_key = ${sessionKey}
    returning last_seq`);
  await deleteRecipeBlobs(tx, sessionKey);
  await insertDefinition(tx, session, sessionKey);
  if (session.archived_at !== null) {
    await tx.db.all(sql`
      update session_memory_stores set archived_at = ${session.archived_at}
      where session_key = ${sessionKey}`);
  }
  await putCheckpoint(tx, workspace_id, sessionKey, session.checkpoint);
  await tx.db.all(sql`delete from session_copies where session_key = ${sessionKey}`);
  tx.touched.add(key, { lastSeq: row?.last_seq ?? 0, due: false });
}

async function listAbandonedCopies(
  tx: SqlTransaction,
  before: string,
  limit: number,
): Promise<readonly SessionKey[]> {
  const rows = await tx.db.all<{ workspace_id: string; session_id: string }>(sql`
    select workspace_id, session_id from session_copies
    where touched_at < ${canonical(before)}
    order by touched_at, session_key
    limit ${limit}`);
  return rows.map((row) => ({ workspaceId: row.workspace_id, sessionId: row.session_id }));
}

/** The large strings go last: they are not counted, and only those of long texts are there. */
async function discardCopy(tx: SqlTransaction, key: SessionKey, limit: number): Promise<boolean> {
  const sessionKey = await findCopy(tx, key);
  if (sessionKey === undefined) return true;
  await tx.db.all(sql`
    delete from events where session_key = ${sessionKey} and seq in (
      select seq from events where session_key = ${sessionKey} order by seq limit ${limit}
    )`);
  const left = await tx.db.get(sql`
    select seq from events where session_key = ${sessionKey} limit 1`);
  if (left !== undefined) return false;
  await tx.db.all(sql`delete from event_contents where session_key = ${sessionKey}`);
  await deleteRecipeBlobs(tx, sessionKey);
  await tx.db.all(sql`delete from session_copies where session_key = ${sessionKey}`);
  await tx.db.all(sql`delete from sessions where session_key = ${sessionKey}`);
  return true;
}

async function touch(tx: SqlTransaction, key: SessionKey): Promise<number> {
  const row = await tx.db.get<{ session_key: number }>(sql`
    update session_copies set touched_at = ${tx.now}
    where workspace_id = ${key.workspaceId} and session_id = ${key.sessionId}
    returning session_key`);
  if (row === undefined) {
    throw new ConflictError(
      `session ${key.sessionId} is not being made any more: another request took its place`,
    );
  }
  return row.session_key;
}

async function findCopy(tx: SqlTransaction, key: SessionKey): Promise<number | undefined> {
  const row = await tx.db.get<{ session_key: number }>(sql`
    select session_key from session_copies
    where workspace_id = ${key.workspaceId} and session_id = ${key.sessionId}`);
  return row?.session_key;
}
