import type { SessionKey } from "../../core/ports/event-log.ts";
import type { InboxEvent } from "../../core/session/log-event.ts";
import {
  asInboxEvent,
  decodeInboxEvent,
  type EventColumns,
  encodeEvent,
  type InboxColumns,
} from "../event-row.ts";
import { type SqlRunner, type SqlTransaction, sql } from "../sql.ts";
import { putContents, readWithContents } from "./event-contents.ts";

type Row = EventColumns & InboxColumns & { session_key: number };
type InboxDraft = Omit<InboxEvent, "arrival" | "accepted_at">;

/** See `EventWriter.accept`. */
export async function acceptInput(
  tx: SqlTransaction,
  key: SessionKey,
  drafts: readonly InboxDraft[],
): Promise<readonly InboxEvent[]> {
  const place = await tx.db.get<{
    session_key: number;
    last_arrival: number;
    last_seq: number;
  }>(sql`
    update sessions set
      last_arrival = last_arrival + ${drafts.length},
      input_seq = last_seq,
      input_at = ${tx.now},
      wake_at = case when wake_at < ${tx.now} then wake_at else ${tx.now} end
    where workspace_id = ${key.workspaceId} and id = ${key.sessionId} and deleted_at is null
    returning session_key, last_arrival, last_seq`);
  if (place === undefined) throw new Error(`there is no session ${key.sessionId} to take input`);
  const accepted: InboxEvent[] = [];
  const sent: Promise<unknown>[] = [];
  let arrival = place.last_arrival - drafts.length;
  for (const draft of drafts) {
    arrival += 1;
    const { columns, contents } = encodeEvent(draft);
    sent.push(
      tx.db.all(sql`
        insert into inbox (
          session_key, arrival, workspace_id, id, thread_id, cross_posted, type, v,
          accepted_at, size, large, public, private
        ) values (
          ${place.session_key}, ${arrival}, ${key.workspaceId}, ${columns.id}, ${columns.thread_id},
          ${columns.cross_posted}, ${columns.type}, ${columns.v}, ${tx.now}, ${columns.size},
          ${columns.large}, ${columns.public}, ${columns.private}
        )`),
      putContents(tx, key.workspaceId, place.session_key, contents),
    );
    accepted.push(asInboxEvent(draft, { arrival, accepted_at: tx.now }));
  }
  await Promise.all(sent);
  tx.touched.add(key, { lastSeq: place.last_seq, due: true });
  return accepted;
}

/** See `EventReader.getInbox`. */
export async function readInbox(db: SqlRunner, key: SessionKey): Promise<readonly InboxEvent[]> {
  const statement = sql`
    select i.session_key, i.arrival, i.id, i.thread_id, i.cross_posted, i.type, i.v, i.accepted_at,
      i.size, i.large, i.public, i.private
    from sessions s join inbox i on i.session_key = s.session_key
    where s.workspace_id = ${key.workspaceId} and s.id = ${key.sessionId}
    order by i.arrival`;
  const { rows, contents } = await readWithContents(db, () => db.all<Row>(statement));
  return rows.map((row) => decodeInboxEvent(row, contents));
}
