import type { LogEvent } from "../session/log-event.ts";
import type { Checkpoint, SessionKey } from "./event-log.ts";
import type { NewSession, SessionRecord } from "./sessions.ts";

/**
 * Sessions that are made with a log, in as many transactions as the log is long: a fork, an import.
 *
 * What every implementation promises (proved by `session-copies.testsuite.ts`):
 * - Nobody finds, lists, claims or deletes a session before it is finished.
 * - A copy that is not finished and not touched any more can be found, and be discarded piece by piece.
 */
export interface SessionCopies {
  /** Takes the id. Rejects with `ConflictError` if a session of any workspace has or had it. */
  begin(session: NewSession): Promise<void>;
  /**
   * Stores events as they are, but for their `seq`, which follows what is there. Their times must not go back. Rejects with
   * `ConflictError` if no such copy is being made any more, and if an event's id is another's.
   */
  add(key: SessionKey, events: readonly LogEvent[]): Promise<void>;
  /** Keeps content from being collected while the copy is made, and, unless a mount has it, no longer. */
  hold(key: SessionKey, sha256: string): Promise<void>;
  /** Makes it a session like others, at rest, whose leases get epochs above `epoch`. */
  finish(session: FinishedCopy): Promise<void>;
  /** Those not touched since `before` (RFC 3339), the oldest first, across workspaces. */
  listAbandoned(before: string, limit: number): Promise<readonly SessionKey[]>;
  /**
   * Takes away up to `limit` events of a copy, and with the last of them the copy, its contents becoming loose. True
   * once nothing is left, and for what is no copy.
   */
  discard(key: SessionKey, limit: number): Promise<boolean>;
}

export type FinishedCopy = NewSession &
  Pick<SessionRecord, "updated_at" | "archived_at"> & {
    readonly epoch: number;
    /** So that nobody has to fold all of the log at once. */
    readonly checkpoint: Checkpoint;
  };
