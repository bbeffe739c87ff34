import { LeaseLostError } from "../../core/errors.ts";
import type { SessionKey } from "../../core/ports/event-log.ts";
import type { Claim, SessionQueue } from "../../core/ports/sessions.ts";
import { type SqlTransaction, sql } from "../sql.ts";

type Row<T> = T & { workspace_id: string; id: string };

/** See `SessionQueue.claim`. */
export async function claimSessions(
  tx: SqlTransaction,
  { holder, leaseMs, limit }: Parameters<SessionQueue["claim"]>[0],
): Promise<readonly Claim[]> {
  const expiresAt = leaseMs === null ? null : later(tx.now, leaseMs);
  const rows = await tx.db.all<Row<{ epoch: number; claims: number; wake_at: string }>>(sql`
    update sessions set
      lease_holder = ${holder}, lease_expires_at = ${expiresAt},
      epoch = epoch + 1, claims = claims + 1, woken = 0
    where session_key in (
      select session_key from sessions
      where wake_at is not null and wake_at <= ${tx.now}
        and (lease_holder is null or lease_expires_at <= ${tx.now})
      order by wake_at, session_key
      limit ${limit}
    )
    returning workspace_id, id, epoch, claims, wake_at`);
  // `returning` promises no order.
  return [...rows]
    .sort((a, b) => (a.wake_at < b.wake_at ? -1 : Number(a.wake_at > b.wake_at)))
    .map((row) => ({ ...keyOf(row), epoch: row.epoch, claims: row.claims }));
}

/** See `SessionQueue.renew`. */
export async function renewLeases(
  tx: SqlTransaction,
  { holder, leaseMs }: Parameters<SessionQueue["renew"]>[0],
): Promise<readonly SessionKey[]> {
  const rows = await tx.db.all<Row<unknown>>(sql`
    update sessions set lease_expires_at = ${later(tx.now, leaseMs)}
    where lease_holder = ${holder}
    returning workspace_id, id`);
  return rows.map(keyOf);
}

/** See `SessionQueue.release`. Its conditions are in the statement that releases. */
export async function releaseSession(
  tx: SqlTransaction,
  request: Parameters<SessionQueue["release"]>[0],
): Promise<boolean> {
  const { workspaceId, sessionId, epoch, seenSeq, seenArrival = 0, wakeAt } = request;
  // A time says when to look again, so nothing can be missed, and the work may be unfinished.
  const guarded = wakeAt === null ? 1 : 0;
  const released = await tx.db.get<{ last_seq: number }>(sql`
    update sessions set
      lease_holder = null, lease_expires_at = null, wake_at = ${wakeAt},
      claims = case when ${guarded} = 1 then 0 else claims end
    where workspace_id = ${workspaceId} and id = ${sessionId}
      and epoch = ${epoch} and lease_holder is not null
      and (${guarded} = 0 or (
        last_seq = ${seenSeq} and woken = 0
        and not exists (
          select 1 from inbox i
          where i.session_key = sessions.session_key and i.arrival > ${seenArrival}
        )
      ))
    returning last_seq`);
  if (released !== undefined) {
    const due = wakeAt !== null && wakeAt <= tx.now;
    if (due) tx.touched.add(request, { lastSeq: released.last_seq, due });
    return true;
  }
  const held = await tx.db.get(sql`
    update sessions set woken = 0
    where workspace_id = ${workspaceId} and id = ${sessionId}
      and epoch = ${epoch} and lease_holder is not null
    returning session_key`);
  if (held === undefined) throw new LeaseLostError(sessionId, epoch);
  return false;
}

/** See `SessionQueue.wake`. `woken` keeps a release of the present holder from undoing it. */
export async function wakeSession(tx: SqlTransaction, key: SessionKey): Promise<void> {
  const row = await tx.db.get<{ last_seq: number }>(sql`
    update sessions set
      woken = 1,
      wake_at = case when wake_at < ${tx.now} then wake_at else ${tx.now} end
    where workspace_id = ${key.workspaceId} and id = ${key.sessionId} and deleted_at is null
    returning last_seq`);
  if (row !== undefined) tx.touched.add(key, { lastSeq: row.last_seq, due: true });
}

/** See `SessionQueue.takeOver`. */
export async function takeOverLeases(tx: SqlTransaction, holder: string): Promise<void> {
  await tx.db.all(sql`
    update sessions set lease_holder = null, lease_expires_at = null
    where lease_holder is not null and lease_holder <> ${holder}`);
}

/** See `SessionQueue.takeOverLost`. Each holder is asked about once, not once a session. */
export async function takeOverLostLeases(tx: SqlTransaction, holder: string): Promise<void> {
  if (tx.isHolderGone === undefined) return;
  await tx.db.all(sql`
    with holders as (
      select distinct lease_holder from sessions
      where lease_holder is not null and lease_holder <> ${holder}
    ), lost as (
      select lease_holder from holders where ${tx.isHolderGone(sql`lease_holder`)}
    )
    update sessions set lease_holder = null, lease_expires_at = null
    where lease_holder in (select lease_holder from lost)`);
}

/** See `SessionQueue.nextDue`. A held session is due when its lease runs out, if it does. */
export async function nextDue(tx: SqlTransaction): Promise<string | undefined> {
  const row = await tx.db.get<{ due: string | null }>(sql`
    select min(case when lease_expires_at > wake_at then lease_expires_at else wake_at end) as due
    from sessions
    where wake_at is not null and (lease_holder is null or lease_expires_at is not null)`);
  return row?.due ?? undefined;
}

function keyOf(row: Row<unknown>): SessionKey {
  return { workspaceId: row.workspace_id, sessionId: row.id };
}

function later(now: string, ms: number): string {
  return new Date(Date.parse(now) + ms).toISOString();
}
