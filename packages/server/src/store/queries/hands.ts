import type {
  HandRecord,
  HandRecords,
  HandRecordWriter,
  HandReport,
} from "../../core/ports/hand-records.ts";
import { type SqlRunner, type SqlTransaction, sql } from "../sql.ts";
import { addLooseBlob } from "./loose-blobs.ts";

interface Row {
  readonly workspace_id: string;
  readonly hand_id: string;
  readonly installation_id: string;
  readonly line: number;
  readonly last_call_id: string | null;
  readonly checkpoint_sha256: string | null;
  readonly checkpoint_size_bytes: number | null;
  readonly checkpoint_call_id: string | null;
  readonly checkpoint_taken_at: string | null;
  readonly problem: string | null;
}

export function handReader(db: SqlRunner): HandRecords {
  return { find: (workspaceId, handId) => findHand(db, workspaceId, handId) };
}

export function handWriter(tx: SqlTransaction): HandRecordWriter {
  return {
    ...handReader(tx.db),
    place: (workspaceId, handId, where) => placeHand(tx, { workspaceId, handId, ...where }),
    answered: (workspaceId, handId, callId) => noteAnswer(tx, { workspaceId, handId, callId }),
    report: (report) => takeReport(tx, report),
    remove: (workspaceId, handId) => removeHand(tx, workspaceId, handId),
  };
}

async function findHand(
  db: SqlRunner,
  workspaceId: string,
  handId: string,
): Promise<HandRecord | undefined> {
  const row = await db.get<Row>(sql`
    select workspace_id, hand_id, installation_id, line, last_call_id, checkpoint_sha256,
      checkpoint_size_bytes, checkpoint_call_id, checkpoint_taken_at, problem
    from hands where workspace_id = ${workspaceId} and hand_id = ${handId}`);
  return row && decode(row);
}

/** See `HandRecordWriter.place`. The same place twice, as for calls that begin together, is once. */
async function placeHand(
  tx: SqlTransaction,
  where: { workspaceId: string; handId: string; installationId: string; line: number },
): Promise<void> {
  const { workspaceId, handId, installationId, line } = where;
  await tx.db.all(sql`
    insert into hands (workspace_id, hand_id, installation_id, line)
    values (${workspaceId}, ${handId}, ${installationId}, ${line})
    on conflict (workspace_id, hand_id) do update set
      installation_id = excluded.installation_id, line = excluded.line,
      last_call_id = hands.checkpoint_call_id, problem = null
    where hands.workspace_id = ${workspaceId} and hands.line < excluded.line`);
}

async function noteAnswer(
  tx: SqlTransaction,
  { workspaceId, handId, callId }: { workspaceId: string; handId: string; callId: string },
): Promise<void> {
  await tx.db.all(sql`
    update hands set last_call_id = ${callId}
    where workspace_id = ${workspaceId} and hand_id = ${handId}`);
}

/** See `HandRecordWriter.report`. */
async function takeReport(tx: SqlTransaction, report: HandReport): Promise<void> {
  const { workspace_id: workspaceId, hand_id: handId, checkpoint, problem } = report;
  const hand = await findHand(tx.db, workspaceId, handId);
  const isCurrent = hand?.line === report.line && hand.installation_id === report.installation_id;
  if (!isCurrent) {
    if (checkpoint !== null) await addLooseBlob(tx, workspaceId, checkpoint.sha256);
    return;
  }
  if (checkpoint === null) {
    await tx.db.all(sql`
      update hands set problem = ${problem}
      where workspace_id = ${workspaceId} and hand_id = ${handId}`);
    return;
  }
  const before = hand.checkpoint?.sha256;
  if (before !== undefined && before !== checkpoint.sha256) {
    await addLooseBlob(tx, workspaceId, before);
  }
  await tx.db.all(sql`
    update hands set
      checkpoint_sha256 = ${checkpoint.sha256}, checkpoint_size_bytes = ${checkpoint.size_bytes},
      checkpoint_call_id = ${lastCovered(hand, report)}, checkpoint_taken_at = ${report.taken_at},
      problem = null
    where workspace_id = ${workspaceId} and hand_id = ${handId}`);
}

/** Calls that ran together may have been answered in another order than they came to the hands. */
function lastCovered(hand: HandRecord, { call_ids: callIds }: HandReport): string | null {
  const { last_call_id: last, checkpoint } = hand;
  if (last !== null && callIds.includes(last)) return last;
  return callIds.at(-1) ?? checkpoint?.call_id ?? null;
}

export async function removeHand(
  tx: SqlTransaction,
  workspaceId: string,
  handId: string,
): Promise<void> {
  const hand = await findHand(tx.db, workspaceId, handId);
  const sha256 = hand?.checkpoint?.sha256;
  if (sha256 !== undefined) await addLooseBlob(tx, workspaceId, sha256);
  await tx.db.all(sql`
    delete from hands where workspace_id = ${workspaceId} and hand_id = ${handId}`);
}

function decode(row: Row): HandRecord {
  const { workspace_id, hand_id, installation_id, line, last_call_id, problem } = row;
  const { checkpoint_sha256: sha256, checkpoint_size_bytes: size, checkpoint_taken_at: at } = row;
  const checkpoint =
    sha256 === null || size === null || at === null
      ? null
      : { sha256, size_bytes: size, call_id: row.checkpoint_call_id, taken_at: at };
  return { workspace_id, hand_id, installation_id, line, last_call_id, checkpoint, problem };
}
