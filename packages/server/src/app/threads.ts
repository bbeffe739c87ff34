import type { Page, ThreadListQuery } from "@drover/api";
import { InvalidRequestError, NotFoundError } from "../core/errors.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { SessionRecord } from "../core/ports/sessions.ts";
import type { Store } from "../core/ports/store.ts";
import type { EventType } from "../core/session/log-event.ts";
import { keyOf } from "./input.ts";
import { getSessionRecord, statsOf, type Wire } from "./sessions-wire.ts";

const STATUS_IDLE = "session.thread_status_idle";
const STATUS_TYPES: readonly EventType[] = [
  "session.thread_status_running",
  STATUS_IDLE,
  "session.thread_status_terminated",
];

export interface ThreadRequest {
  readonly key: SessionKey;
  readonly threadId: string;
  /** RFC 3339. */
  readonly now: string;
}

/** The threads of a session: its primary thread, until sub-agents come. One page holds them all. */
export async function listThreads(
  store: Store,
  { key, query, now }: { key: SessionKey; query: ThreadListQuery; now: string },
): Promise<Page<Wire>> {
  const session = await getSessionRecord(store.sessions, key);
  if (query.page !== undefined) throw new InvalidRequestError("page: not a cursor of this list");
  const isWanted = query.statuses?.includes(session.status) ?? true;
  return { data: isWanted ? [await toThread(store, session, now)] : [], next_page: null };
}

export async function getThread(store: Store, request: ThreadRequest): Promise<Wire> {
  const session = await getSessionRecord(store.sessions, request.key);
  assertThread(session, request.threadId);
  return await toThread(store, session, request.now);
}

/** Always rejects for the primary thread, the only one there is. */
export async function archiveThread(store: Store, request: ThreadRequest): Promise<never> {
  assertThread(await getSessionRecord(store.sessions, request.key), request.threadId);
  throw new InvalidRequestError(
    "the primary thread cannot be archived; archive the session instead",
  );
}

export function assertThread(session: SessionRecord, threadId: string): void {
  if (threadId === session.thread_id) return;
  throw new NotFoundError(`session ${session.id} has no thread ${threadId}`);
}

async function toThread(store: Store, session: SessionRecord, now: string): Promise<Wire> {
  const { multiagent: _multiagent, ...agent } = session.agent;
  const hasMoved = session.status !== "idle" || (await hasHappened(store, session, STATUS_TYPES));
  const hasIdled = hasMoved && (await hasHappened(store, session, [STATUS_IDLE]));
  // A session that has not run since an earlier version has only the totals of its one thread.
  const totals = session.totals.threads?.[session.thread_id] ?? session.totals;
  return {
    id: session.thread_id,
    type: "session_thread",
    session_id: session.id,
    parent_thread_id: null,
    workflow_run_id: null,
    agent,
    status: session.status,
    // Null until the thread's first change of status, and until it first came to rest.
    stats: hasMoved ? statsOf(session, totals, now) : null,
    usage: hasIdled ? totals.usage : null,
    created_at: session.created_at,
    updated_at: session.updated_at,
    archived_at: session.archived_at,
  };
}

/** The first of them is near the log's beginning, so little is read to find it. */
async function hasHappened(
  store: Store,
  session: SessionRecord,
  types: readonly EventType[],
): Promise<boolean> {
  const range = { types, threadId: session.thread_id, limit: 1 };
  return (await store.events.getEvents(keyOf(session), range)).length > 0;
}
