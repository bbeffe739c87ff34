import type { EventRange, SessionKey } from "../../core/ports/event-log.ts";
import type { LogEvent } from "../../core/session/log-event.ts";
import { decodeLogEvent, type EventColumns, type LogColumns } from "../event-row.ts";
import { allOf, oneOf, type Query, type SqlRunner, sql } from "../sql.ts";
import { readWithContents } from "./event-contents.ts";
import { direction, within } from "./pages.ts";

/** A slice ends once its bodies come to so many bytes. */
const SLICE_BYTES = 16 * 1024 * 1024;

type Row = EventColumns & LogColumns & { session_key: number };

/**
 * See `EventReader.getEvents`. The page is measured by the rows' sizes before any body is read: a
 * thousand events may be a thousand images.
 */
export async function readEvents(
  db: SqlRunner,
  key: SessionKey,
  range: EventRange,
): Promise<readonly LogEvent[]> {
  const order = direction(range.order ?? "asc");
  const statement = sql`
    with page as (
      select e.session_key, e.seq, e.size
      from sessions s join events e on e.session_key = s.session_key
      where s.workspace_id = ${key.workspaceId} and s.id = ${key.sessionId}
        and ${allOf(conditions(range))}
      order by e.seq ${order}
      limit ${range.limit}
    ), slice as (
      select session_key, seq, sum(size) over (order by seq ${order}) - size as before from page
    )
    select e.session_key, e.seq, e.id, e.thread_id, e.cross_posted, e.type, e.v, e.processed_at,
      e.epoch, e.size, e.large, e.public, e.private
    from slice p join events e on e.session_key = p.session_key and e.seq = p.seq
    where p.before < ${SLICE_BYTES}
    order by e.seq ${order}`;
  const { rows, contents } = await readWithContents(db, () => db.all<Row>(statement));
  return rows.map((row) => decodeLogEvent(row, contents));
}

/** See `EventReader.findSeq`. */
export async function findEventSeq(
  db: SqlRunner,
  key: SessionKey,
  eventId: string,
): Promise<number | undefined> {
  const row = await db.get<{ seq: number }>(sql`
    select e.seq
    from sessions s join events e on e.session_key = s.session_key
    where s.workspace_id = ${key.workspaceId} and s.id = ${key.sessionId}
      and e.workspace_id = ${key.workspaceId} and e.id = ${eventId}`);
  return row?.seq;
}

function conditions(range: EventRange): readonly (Query | undefined)[] {
  const { after, before, types, threadId, visible } = range;
  return [
    after === undefined ? undefined : sql`e.seq > ${after}`,
    before === undefined ? undefined : sql`e.seq < ${before}`,
    types === undefined ? undefined : sql`e.type in ${oneOf(types)}`,
    threadId === undefined ? undefined : sql`e.thread_id = ${threadId}`,
    visible === true ? sql`e.type not like 'drover.%'` : undefined,
    visible === true && threadId === undefined
      ? sql`(e.thread_id = s.thread_id or e.cross_posted = 1)`
      : undefined,
    within(sql`e.processed_at`, range.processedAt),
  ];
}
