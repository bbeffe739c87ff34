import type { EventDraft, EventType, InboxEvent, LogEvent } from "../session/log-event.ts";
import type { SessionStatus, SessionTotals } from "./sessions.ts";

/** The key of everything: a session within its workspace. */
export interface SessionKey {
  readonly workspaceId: string;
  readonly sessionId: string;
}

export interface EventRange {
  /** Only events with a greater `seq`. */
  readonly after?: number;
  /** Only events with a smaller `seq`. */
  readonly before?: number;
  readonly types?: readonly EventType[];
  readonly threadId?: string;
  /**
   * True for what clients see: no `drover.*`, and of the session, unless `threadId` is set, the primary
   * thread and what is cross-posted.
   */
  readonly visible?: boolean;
  /** RFC 3339 bounds on `processed_at`. */
  readonly processedAt?: { gt?: string; gte?: string; lt?: string; lte?: string };
  readonly order?: "asc" | "desc";
  /** At most so many events; a slice also ends after 16 MB. */
  readonly limit: number;
}

/** Reading the log, outside any transaction. */
export interface EventReader {
  /** A slice by position; fewer than `limit` only at the end or after 16 MB. */
  getEvents(key: SessionKey, range: EventRange): Promise<readonly LogEvent[]>;
  /** The place of a committed event; undefined if the session has none with this id. */
  findSeq(key: SessionKey, eventId: string): Promise<number | undefined>;
  /** Input not yet taken up, in order of arrival. */
  getInbox(key: SessionKey): Promise<readonly InboxEvent[]>;
}

/**
 * Writing the log, inside a transaction of the store.
 *
 * What every implementation promises (proved by `event-log.testsuite.ts`):
 * - `seq` counts from 1 within a session without gaps; committed events never change.
 * - `processed_at` never goes back within a session.
 * - An append stores all of its drafts or none.
 * - A draft whose id waits in the inbox takes it out of there, in the same transaction.
 */
export interface EventWriter {
  /**
   * Appends for the holder of the session's lease. Rejects with `LeaseLostError`, storing nothing,
   * unless `epoch` is the session's current one, and for a deleted session.
   */
  append(request: AppendRequest): Promise<readonly LogEvent[]>;
  /**
   * Appends what is processed on receipt (tool answers, `session.updated`, archive, delete), without
   * a lease, by locking the session's row. Also makes the session due.
   */
  appendReceipts(key: SessionKey, drafts: readonly EventDraft[]): Promise<readonly LogEvent[]>;
  /** Puts input into the inbox and makes the session due. */
  accept(
    key: SessionKey,
    drafts: readonly Omit<InboxEvent, "arrival" | "accepted_at">[],
  ): Promise<readonly InboxEvent[]>;
}

export interface AppendRequest extends SessionKey {
  readonly epoch: number;
  readonly drafts: readonly EventDraft[];
  /** What the session's row shows from now on; absent fields stay. */
  readonly status?: SessionStatus;
  readonly totals?: SessionTotals;
  /** Control state to wake from, as JSON, at most 64 KB a thread; replaces the earlier one. */
  readonly checkpoint?: Checkpoint;
}

export interface Checkpoint {
  /** Version of `fold`; another version's checkpoint is ignored. */
  readonly fold: number;
  /** The last event folded in. */
  readonly seq: number;
  readonly state: string;
}
