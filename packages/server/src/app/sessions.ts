import type { BidirectionalPage, SessionListQuery } from "@drover/api";
import { InvalidRequestError } from "../core/errors.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { SessionListFilter, SessionRecord } from "../core/ports/sessions.ts";
import type { Store, StoreTransaction } from "../core/ports/store.ts";
import type { EventDraft } from "../core/session/log-event.ts";
import { newId } from "../lib/new-id.ts";
import { keyOf } from "./input.ts";
import { type Cursors, createdAtOf, readPage } from "./pagination.ts";
import { isBlocked } from "./session-state.ts";
import { existing, getSessionRecord, toSession, type Wire } from "./sessions-wire.ts";

/** Agents within sessions are up to 1 MB each, so a page of them is kept shorter than others. */
const PAGE_LIMIT_MAX = 100;

export async function getSession(
  store: Store,
  { key, now }: { key: SessionKey; now: string },
): Promise<Wire> {
  return toSession(await getSessionRecord(store.sessions, key), now);
}

/** Newest first unless asked otherwise, with cursors both ways. */
export async function listSessions(
  { store, cursors }: { store: Store; cursors: Cursors },
  request: { workspaceId: string; query: SessionListQuery; now: string },
): Promise<BidirectionalPage<Wire>> {
  const { workspaceId, query, now } = request;
  const filter = filterOf(query);
  return await readPage({
    cursors,
    scope: { workspaceId, list: "sessions", order: query.order ?? "desc" },
    query,
    createdAt: createdAtOf(query),
    limitMax: PAGE_LIMIT_MAX,
    // No session of this version comes from a deployment.
    read: async (page) =>
      query.deployment_id === undefined ? await store.sessions.list(workspaceId, filter, page) : [],
    present: (session) => toSession(session, now),
  });
}

/** Ends the session for good: it keeps its log and takes no more events. Twice is once. */
export async function archiveSession(tx: StoreTransaction, key: SessionKey): Promise<Wire> {
  const session = existing(await tx.sessions.lock(key), key);
  if (session.archived_at !== null) return toSession(session, tx.now);
  await assertAtRest(tx, session, "archived");
  if (session.status !== "terminated") {
    await tx.events.appendReceipts(key, terminatedDrafts(session));
  }
  await tx.sessions.update(key, {
    status: "terminated",
    archived_at: tx.now,
    updated_at: tx.now,
  });
  return toSession(existing(await tx.sessions.find(key), key), tx.now);
}

/**
 * Deletes the session with its events and files. Open streams end with `session.deleted`, which they
 * make from the tombstone. With it the store notes that the hand is to be disposed of, and what content
 * may have to go, so that both happen whatever dies after the commit.
 */
export async function deleteSession(tx: StoreTransaction, key: SessionKey): Promise<Wire> {
  const session = existing(await tx.sessions.lock(key), key);
  await assertAtRest(tx, session, "deleted");
  await tx.files.deleteOfSession(key.workspaceId, key.sessionId);
  await tx.sessions.delete(key);
  return { id: session.id, type: "session_deleted" };
}

/** True while a turn runs or is due. */
export async function isBusy(tx: StoreTransaction, session: SessionRecord): Promise<boolean> {
  if (session.status === "running" || session.status === "rescheduling") return true;
  if (session.status === "terminated") return false;
  const waiting = await tx.events.getInbox(keyOf(session));
  if (waiting.some(({ type }) => type === "user.interrupt")) return true;
  // A message of the system starts nothing: one that an interrupt left behind waits for the next turn.
  if (!waiting.some(({ type }) => type === "user.message")) return false;
  // What waits for the client's answers starts nothing before they are there.
  return !(await isBlocked(tx, keyOf(session)));
}

async function assertAtRest(
  tx: StoreTransaction,
  session: SessionRecord,
  what: "archived" | "deleted",
): Promise<void> {
  if (await isBusy(tx, session)) {
    throw new InvalidRequestError(
      `session ${session.id} is running and cannot be ${what}: interrupt it and wait for idle`,
    );
  }
}

function terminatedDrafts(session: SessionRecord): EventDraft[] {
  const place = { thread_id: session.thread_id, cross_posted: false, private: {} };
  return [
    {
      ...place,
      id: newId("sevt"),
      type: "session.thread_status_terminated",
      public: { session_thread_id: session.thread_id, agent_name: session.agent.name },
    },
    { ...place, id: newId("sevt"), type: "session.status_terminated", public: {} },
  ];
}

function filterOf(query: SessionListQuery): SessionListFilter {
  const createdAt = createdAtOf(query);
  return {
    ...(query.agent_id !== undefined && { agentId: query.agent_id }),
    // A version alone says nothing: the contract has it apply with an agent only.
    ...(query.agent_id !== undefined &&
      query.agent_version !== undefined && { agentVersion: query.agent_version }),
    ...(query.memory_store_id !== undefined && { memoryStoreId: query.memory_store_id }),
    ...(query.statuses !== undefined && { statuses: query.statuses }),
    ...(Object.keys(createdAt).length > 0 && { createdAt }),
    includeArchived: query.include_archived ?? false,
  };
}
