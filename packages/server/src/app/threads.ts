import type { Page, ThreadListQuery } from "@drover/api";
import { InvalidRequestError, NotFoundError } from "../core/errors.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { SessionRecord } from "../core/ports/sessions.ts";
import type { Store } from "../core/ports/store.ts";
import { getSessionRecord, statsOf, type Wire } from "./sessions-wire.ts";

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
  return { data: isWanted ? [toThread(session, now)] : [], next_page: null };
}

export async function getThread(store: Store, request: ThreadRequest): Promise<Wire> {
  const session = await getSessionRecord(store.sessions, request.key);
  assertThread(session, request.threadId);
  return toThread(session, request.now);
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

function toThread(session: SessionRecord, now: string): Wire {
  const { multiagent: _multiagent, ...agent } = session.agent;
  return {
    id: session.thread_id,
    type: "session_thread",
    session_id: session.id,
    parent_thread_id: null,
    workflow_run_id: null,
    agent,
    status: session.status,
    // Both are null until the thread has run: an absent figure would read as zero.
    stats: session.last_seq === 0 ? null : statsOf(session, now),
    usage: Object.keys(session.totals.usage).length === 0 ? null : session.totals.usage,
    created_at: session.created_at,
    updated_at: session.updated_at,
    archived_at: session.archived_at,
  };
}
