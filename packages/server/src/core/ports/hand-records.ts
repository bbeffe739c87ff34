import type { WorkspaceCheckpoint } from "./hands.ts";

/** Where a hand's files are, and what is kept of them elsewhere. */
export interface HandRecord {
  readonly workspace_id: string;
  readonly hand_id: string;
  /** Of the data folder that has the files. */
  readonly installation_id: string;
  /** See `HandFiles`. */
  readonly line: number;
  /** The last call in its sandbox that was answered on this line, or that the line's checkpoint has; null for none. */
  readonly last_call_id: string | null;
  readonly checkpoint: HandCheckpoint | null;
  /** Why the files as they are now could not be kept, in a sentence; null if they could, or were not to be. */
  readonly problem: string | null;
}

export interface HandCheckpoint extends WorkspaceCheckpoint {
  /** The last call whose changes are in it. */
  readonly call_id: string | null;
  /** RFC 3339: when the files were read. */
  readonly taken_at: string;
}

/** What hands have to tell of a hand's files, once nothing ran in its sandbox for long. */
export interface HandReport {
  readonly workspace_id: string;
  readonly hand_id: string;
  readonly installation_id: string;
  readonly line: number;
  /** Null if they could not be kept: then there is a problem. */
  readonly checkpoint: WorkspaceCheckpoint | null;
  readonly problem: string | null;
  /** Of what was kept: the calls that ran before, the last one last; older ones may be left out. */
  readonly call_ids: readonly string[];
  readonly taken_at: string;
}

export interface HandRecords {
  /** Undefined for a hand that no call was sent to. */
  find(workspaceId: string, handId: string): Promise<HandRecord | undefined>;
}

/**
 * What every implementation promises (proved by `hand-records.testsuite.ts`):
 * - Content that a checkpoint names is referenced as long as it is the hand's newest, and loose after it.
 * - A report of another line or installation changes nothing; its content becomes loose.
 * - The same report twice is one.
 */
export interface HandRecordWriter extends HandRecords {
  /**
   * The hand's next call goes to this installation. Where that is not the one before, or `isLost`, the
   * files begin anew there, with a higher line; the checkpoint stays.
   */
  place(
    workspaceId: string,
    handId: string,
    where: { readonly installationId: string; readonly line: number },
  ): Promise<void>;
  /** A call in its sandbox was answered. A no-op for a hand that is not known. */
  answered(workspaceId: string, handId: string, callId: string): Promise<void>;
  /** Takes in what hands tell; also of hands that are not known, whose content nobody wants. */
  report(report: HandReport): Promise<void>;
  /** Forgets the hand, and lets go of its content. */
  remove(workspaceId: string, handId: string): Promise<void>;
}

/** True if calls have changed the files since the newest checkpoint. */
export function isAhead({ last_call_id, checkpoint }: HandRecord): boolean {
  return last_call_id !== null && last_call_id !== (checkpoint?.call_id ?? null);
}
