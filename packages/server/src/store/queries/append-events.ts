import { LeaseLostError } from "../../core/errors.ts";
import type { AppendRequest, SessionKey } from "../../core/ports/event-log.ts";
import type { EventDraft, LogEvent } from "../../core/session/log-event.ts";
import { asLogEvent, isInputType } from "../event-row.ts";
import { toJson } from "../json-column.ts";
import { type SqlTransaction, sql } from "../sql.ts";
import { putCheckpoint } from "./checkpoints.ts";
import { insertEvent } from "./insert-event.ts";

interface Place {
  readonly session_key: number;
  readonly last_seq: number;
  readonly last_processed_at: string;
}

/** See `EventWriter.append`. The fence is a condition of the update that takes the sequence numbers. */
export async function appendEvents(
  tx: SqlTransaction,
  request: AppendRequest,
): Promise<readonly LogEvent[]> {
  const { workspaceId, sessionId, epoch, drafts, checkpoint } = request;
  const status = request.status ?? null;
  const totals = request.totals === undefined ? null : toJson(request.totals);
  const shown = status === null && totals === null ? 0 : 1;
  const place = await tx.db.get<Place>(sql`
    update sessions set
      last_seq = last_seq + ${drafts.length},
      last_processed_at = case when last_processed_at > ${tx.now} then last_processed_at else ${tx.now} end,
      status = coalesce(${status}, status),
      totals = coalesce(${totals}, totals),
      updated_at = case when ${shown} = 1 then ${tx.now} else updated_at end,
      claims = 0
    where workspace_id = ${workspaceId} and id = ${sessionId}
      and (${tx.isFenced ? 0 : 1} = 1 or (epoch = ${epoch} and lease_holder is not null))
      and deleted_at is null
    returning session_key, last_seq, last_processed_at`);
  if (place === undefined) throw new LeaseLostError(sessionId, epoch);
  const [events] = await Promise.all([
    insertEvents(tx, request, place, { drafts, epoch }),
    checkpoint && putCheckpoint(tx, workspaceId, place.session_key, checkpoint),
  ]);
  tx.touched.add(request, { lastSeq: place.last_seq, due: false });
  return events;
}

/** See `EventWriter.appendReceipts`. */
export async function appendReceipts(
  tx: SqlTransaction,
  key: SessionKey,
  drafts: readonly EventDraft[],
): Promise<readonly LogEvent[]> {
  // What a client posts is input for late streams, as what goes through the inbox is.
  const input = drafts.some(({ type }) => type.startsWith("user.")) ? 1 : 0;
  const place = await tx.db.get<Place>(sql`
    update sessions set
      last_seq = last_seq + ${drafts.length},
      last_processed_at = case when last_processed_at > ${tx.now} then last_processed_at else ${tx.now} end,
      input_seq = case when ${input} = 1 then last_seq else input_seq end,
      input_at = case when ${input} = 1 then ${tx.now} else input_at end,
      wake_at = case when wake_at < ${tx.now} then wake_at else ${tx.now} end
    where workspace_id = ${key.workspaceId} and id = ${key.sessionId} and deleted_at is null
    returning session_key, last_seq, last_processed_at`);
  if (place === undefined) throw new Error(`there is no session ${key.sessionId} to append to`);
  const events = await insertEvents(tx, key, place, { drafts, epoch: 0 });
  tx.touched.add(key, { lastSeq: place.last_seq, due: true });
  return events;
}

/** All statements are sent before the first answer is awaited: they run in this order all the same. */
async function insertEvents(
  tx: SqlTransaction,
  key: SessionKey,
  place: Place,
  { drafts, epoch }: { drafts: readonly EventDraft[]; epoch: number },
): Promise<readonly LogEvent[]> {
  const owner = { workspaceId: key.workspaceId, sessionKey: place.session_key };
  const events: LogEvent[] = [];
  const sent: Promise<unknown>[] = [];
  let seq = place.last_seq - drafts.length;
  for (const draft of drafts) {
    seq += 1;
    const at = { seq, processed_at: place.last_processed_at, epoch };
    sent.push(insertEvent(tx, owner, draft, at));
    if (isInputType(draft.type)) {
      sent.push(
        tx.db.all(
          sql`delete from inbox where session_key = ${place.session_key} and id = ${draft.id}`,
        ),
      );
    }
    events.push(asLogEvent(draft, at));
  }
  await Promise.all(sent);
  return events;
}
