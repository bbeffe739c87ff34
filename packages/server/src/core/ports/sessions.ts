import type { Budget } from "@drover/api";
import type { Spending } from "../session/account.ts";
import type { Checkpoint, SessionKey } from "./event-log.ts";
import type { Recipe } from "./hands.ts";

export type SessionStatus = "idle" | "running" | "rescheduling" | "terminated";

/**
 * Running totals; times in seconds. What is optional is not there for a session that has not run yet,
 * or has not since an earlier version.
 */
export interface SessionTotals extends ThreadTotals {
  /** By thread id. */
  readonly threads?: Readonly<Record<string, ThreadTotals>>;
  /** What budgets are decided on. */
  readonly spending?: Spending;
  /** True while a turn waits because the session is at its budget. */
  readonly isHeld?: boolean;
}

/** As the session object or the thread shows them. */
export interface ThreadTotals {
  readonly usage: Readonly<Record<string, unknown>>;
  readonly stats: { readonly active_seconds?: number; readonly duration_seconds?: number };
}

/** A session's row: what it was made with, and what it shows now. The log is the truth of the rest. */
export interface SessionRecord {
  readonly workspace_id: string;
  readonly id: string;
  /** The primary thread, which exists from creation. */
  readonly thread_id: string;
  readonly hand_id: string;
  readonly status: SessionStatus;
  readonly title: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly environment_id: string;
  /** The agent as it was when the session was made (wire `SessionAgent`). */
  readonly agent: SessionAgentSnapshot;
  readonly resources: readonly Readonly<Record<string, unknown>>[];
  readonly vault_ids: readonly string[];
  /** Null for none, also for one that was removed. */
  readonly budget: Budget | null;
  readonly recipe: Recipe;
  /** The id of the key that made it; absent where that is not known. */
  readonly created_by?: string;
  readonly totals: SessionTotals;
  /** RFC 3339 with milliseconds. */
  readonly created_at: string;
  readonly updated_at: string;
  readonly archived_at: string | null;
  /** A tombstone: everything else is gone, so that open streams end on every process. */
  readonly deleted_at: string | null;
  readonly last_seq: number;
  /**
   * Where a late stream begins: `last_seq` when the newest input came in, through the inbox or as a
   * `user.*` receipt; null once a stream attached.
   */
  readonly input_seq: number | null;
  readonly input_at: string | null;
}

/** What lists show: all but what only its driver needs. */
export type SessionSummary = Omit<SessionRecord, "recipe" | "created_by">;

/** What the harness needs of the agent; the rest is carried as it is. */
export interface SessionAgentSnapshot {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly system: string | null;
  readonly model: {
    readonly id: string;
    readonly effort?: { readonly type: "low" | "medium" | "high" | "xhigh" | "max" };
    readonly speed?: "standard" | "fast";
  };
  readonly tools: readonly Readonly<Record<string, unknown>>[];
  readonly mcp_servers?: readonly Readonly<Record<string, unknown>>[];
  readonly [key: string]: unknown;
}

export interface SessionListFilter {
  readonly agentId?: string;
  readonly agentVersion?: number;
  /** Those that the store is attached to. */
  readonly memoryStoreId?: string;
  readonly statuses?: readonly SessionStatus[];
  readonly includeArchived?: boolean;
  readonly createdAt?: { gt?: string; gte?: string; lt?: string; lte?: string };
}

export type NewSession = Omit<
  SessionRecord,
  "updated_at" | "archived_at" | "deleted_at" | "last_seq" | "input_seq" | "input_at"
>;

export type SessionPatch = Partial<
  Pick<
    SessionRecord,
    | "title"
    | "metadata"
    | "agent"
    | "budget"
    | "resources"
    | "recipe"
    | "status"
    | "archived_at"
    | "updated_at"
  >
>;

export interface SessionReader {
  /** Undefined if there is none in this workspace. Deleted ones come with `deleted_at` set. */
  find(key: SessionKey): Promise<SessionRecord | undefined>;
  /** Not deleted ones, by (created_at, id). */
  list(
    workspaceId: string,
    filter: SessionListFilter,
    page: PageRequest,
  ): Promise<readonly SessionSummary[]>;
  findCheckpoint(key: SessionKey): Promise<Checkpoint | undefined>;
  /** A repository's token as a `SecretBox` sealed it; undefined for one without. */
  findRepositoryToken(key: SessionKey, resourceId: string): Promise<string | undefined>;
}

export interface SessionWriter {
  insert(session: NewSession): Promise<void>;
  /** Locks the row until the transaction ends. Undefined as for `find`. */
  lock(key: SessionKey): Promise<SessionRecord | undefined>;
  update(key: SessionKey, patch: SessionPatch): Promise<void>;
  /** Keeps a repository's sealed token, in place of the one before, until the session is deleted. */
  putRepositoryToken(key: SessionKey, resourceId: string, sealed: string): Promise<void>;
  /**
   * Deletes events, inbox, checkpoint and tokens, ends its lease and leaves the tombstone, which asks for its
   * hand to be disposed of if a call was ever sent to it. Content that its recipe mounts becomes loose.
   */
  delete(key: SessionKey): Promise<void>;
  /**
   * Gives each of two sessions the hand of the other. Whoever holds a lease of them loses it: nothing
   * that was decided with the hand before can be appended any more.
   */
  swapHands(workspaceId: string, sessionIds: readonly [string, string]): Promise<void>;
  /**
   * The hands of deleted sessions that are still to be disposed of, the longest deleted first, across
   * workspaces: for the server itself, as `SessionQueue.claim` is.
   */
  listUndisposed(page: {
    limit: number;
    after?: UndisposedHand;
  }): Promise<readonly UndisposedHand[]>;
  /** The hand of the deleted session is gone. A no-op if it was before. */
  setDisposed(key: SessionKey): Promise<void>;
  /**
   * Says that a stream was attached, and from where it should start: `input_seq` if the newest input
   * was accepted within `withinMs` and none has been attached since, else undefined (live only).
   */
  attachStream(key: SessionKey, withinMs: number): Promise<number | undefined>;
  /** Says that a stream that was open has seen input of `until` (RFC 3339) come: it was attached. */
  attendInput(key: SessionKey, until: string): Promise<void>;
}

export interface UndisposedHand extends SessionKey {
  readonly handId: string;
  /** RFC 3339 with milliseconds. */
  readonly deletedAt: string;
}

/**
 * The work queue: sessions that are due (`wake_at` in the past) and that nobody holds.
 *
 * What every implementation promises (proved by `session-queue.testsuite.ts`):
 * - Claiming is oldest-due first, and gives lease and a new, higher epoch in one statement.
 * - A session is held by one process at a time; the epoch before can append nothing any more.
 * - `wake_at` stays until the holder releases the session: what dies in between is claimed again.
 */
export interface SessionQueue {
  /** Claims up to `limit` due sessions. `leaseMs` null: the lease does not expire by itself. */
  claim(request: {
    holder: string;
    leaseMs: number | null;
    limit: number;
  }): Promise<readonly Claim[]>;
  /** Extends all leases of the holder by `leaseMs` from now; tells which sessions it still holds. */
  renew(request: { holder: string; leaseMs: number }): Promise<readonly SessionKey[]>;
  /**
   * Gives the session back, due again at `wakeAt` (RFC 3339) or not at all (null). With null it
   * answers false, and keeps the lease, if there is input in the inbox that arrived after
   * `seenArrival` (0 unless given: any), an event after `seenSeq`, or a `wake` since the claim or the
   * last false: look again first. Rejects with `LeaseLostError` if it is no longer held.
   */
  release(
    request: SessionKey & {
      epoch: number;
      seenSeq: number;
      seenArrival?: number;
      wakeAt: string | null;
    },
  ): Promise<boolean>;
  /** Makes the session due at once. */
  wake(key: SessionKey): Promise<void>;
  /** Ends every lease of other holders: the caller has proved that they are gone. */
  takeOver(holder: string): Promise<void>;
  /**
   * Ends the leases of those other holders that are proved gone by something better than time; does
   * nothing where nothing proves it.
   */
  takeOverLost(holder: string): Promise<void>;
  /** When the next session becomes due (RFC 3339), undefined if none is waiting. */
  nextDue(): Promise<string | undefined>;
}

export interface Claim extends SessionKey {
  readonly epoch: number;
  /**
   * How often it was claimed, this time included, since its holder last appended or let it sleep: a
   * sign of poison when it grows.
   */
  readonly claims: number;
}

/** A page by immutable position. */
export interface PageRequest {
  readonly limit: number;
  readonly order: "asc" | "desc";
  /** Rows after this one in the given order. */
  readonly after?: PagePosition;
}

export interface PagePosition {
  /** RFC 3339 with milliseconds. */
  readonly created_at: string;
  readonly id: string;
}
