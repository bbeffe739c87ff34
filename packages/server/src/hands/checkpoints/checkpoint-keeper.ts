import type { BlobRef, Blobs } from "../../core/ports/blobs.ts";
import type { Clock } from "../../core/ports/clock.ts";
import { failPoint } from "../../lib/fail-point.ts";
import type { HandMemories } from "../memory/hand-memories.ts";
import type { Report } from "../runtime/report.ts";
import type { SandboxKeeper } from "../runtime/sandbox-keeper.ts";
import type { CheckpointOutbox } from "./checkpoint-outbox.ts";
import type { HandNotes, KnownHand } from "./hand-notes.ts";
import { CheckpointError, takeCheckpoint } from "./take-checkpoint.ts";

export interface CheckpointKeeperOptions {
  readonly notes: HandNotes;
  readonly outbox: CheckpointOutbox;
  readonly keeper: SandboxKeeper;
  readonly memory: Pick<HandMemories, "hasNews">;
  readonly blobs: Pick<Blobs, "put">;
  readonly clock: Clock;
  readonly report: Report;
  readonly installationId: string;
  /** True while a call for this line of the hand's files runs, or has a result that is not committed. */
  readonly isBusy: (handId: string, line: number) => boolean;
  readonly limits: CheckpointLimits;
  /** Bytes that can still be written to the disk with the hands' files. */
  readonly freeDiskBytes: () => Promise<number>;
}

export interface CheckpointLimits {
  /** A hand that no call used for so long is kept. */
  readonly idleMs: number;
  /** Files of more than so many bytes are not kept elsewhere. 0: none are. */
  readonly checkpointBytesMax: number;
  /** Bytes of files, as kept, that stay on this disk though they are kept elsewhere too. */
  readonly cacheBytesMax: number;
  /** Below so much free disk, files that are kept elsewhere are deleted here. */
  readonly freeDiskBytesMin: number;
}

/** Reading the files and storing them. */
const CHECKPOINT_MS = 10 * 60_000;
/** One at a time: what a process that was killed left of one is overwritten by the next. */
const ARCHIVE_PATH = "/mnt/session/.spill/.kept.tar";
/** After a failure that is not the files' fault. */
const RETRY_MS = 60_000;

/**
 * Keeps the files of idle hands in the blob store, one hand at a time, the longest idle first: its sandbox
 * was ended before, so nothing changes them meanwhile. A call that comes in between ends the reading. What
 * is kept may then be deleted here, where its room is needed.
 */
export class CheckpointKeeper {
  readonly #options: CheckpointKeeperOptions;
  #working: Promise<void> | undefined;
  /** By hand. */
  readonly #restUntilMs = new Map<string, number>();

  constructor(options: CheckpointKeeperOptions) {
    this.#options = options;
  }

  /** Begins what is to be done next, if nothing is under way. */
  look(): void {
    const { report } = this.#options;
    if (this.#working !== undefined) return;
    this.#working = this.#work()
      .catch((error: unknown) => {
        report("checkpoint_not_taken", { error });
      })
      .finally(() => {
        this.#working = undefined;
      });
  }

  /**
   * A server has committed the report. A no-op for one that is not the hand's newest: it is told again
   * what was not heard.
   */
  async acknowledge(handId: string, takenAt: string): Promise<void> {
    const { notes, outbox } = this.#options;
    const report = outbox.find(handId);
    if (report?.taken_at !== takenAt) return;
    await notes.reported(report);
    failPoint("hands.keep.after_note");
    await outbox.remove(report);
  }

  /** Resolves when nothing is under way. */
  async rest(): Promise<void> {
    // In rounds, because a look may come in between.
    while (this.#working !== undefined) await this.#working;
  }

  async #work(): Promise<void> {
    const due = this.#due();
    if (due !== undefined) await this.#keep(due);
    else await this.#makeRoom();
  }

  #due(): KnownHand | undefined {
    const { clock, limits, notes } = this.#options;
    if (limits.checkpointBytesMax === 0) return undefined;
    const dueMs = clock.now() - limits.idleMs;
    return oldest(
      notes.all().filter((hand) => {
        const { note, lastUsedMs } = hand;
        const isNew = note.kept === null && note.problem === null && note.call_ids.length > 0;
        return isNew && lastUsedMs <= dueMs && this.#isAtRest(hand);
      }),
    );
  }

  #isAtRest({ handId, note }: KnownHand): boolean {
    const { clock, isBusy, keeper, outbox } = this.#options;
    if (keeper.has(handId) || isBusy(handId, note.line) || outbox.find(handId)) return false;
    return (this.#restUntilMs.get(handId) ?? 0) <= clock.now();
  }

  async #keep(hand: KnownHand): Promise<void> {
    const { clock, installationId, outbox, report } = this.#options;
    const { handId, note } = hand;
    const told = {
      ...{ workspace_id: note.workspace_id, hand_id: handId, line: note.line },
      installation_id: installationId,
      call_ids: note.call_ids,
      taken_at: new Date(clock.now()).toISOString(),
    };
    try {
      failPoint("hands.keep.before");
      const checkpoint = await this.#take(hand);
      if (checkpoint === undefined) return;
      failPoint("hands.keep.after_blob");
      await outbox.put({ ...told, checkpoint, problem: null });
      failPoint("hands.keep.after_report");
      report("files_kept", { hand_id: handId, ...checkpoint });
    } catch (error) {
      if (!(error instanceof CheckpointError)) {
        this.#restUntilMs.set(handId, clock.now() + RETRY_MS);
        throw error;
      }
      report("files_not_kept", { hand_id: handId, error });
      await outbox.put({ ...told, checkpoint: null, problem: error.message });
    }
  }

  /** Undefined if a call came meanwhile. */
  async #take({ handId, note }: KnownHand): Promise<BlobRef | undefined> {
    const { blobs, keeper, limits, memory, notes } = this.#options;
    const { workspace_id: workspaceId, reader } = note;
    // Filled first, if nobody came to do that.
    const request = notes.requestOf({ workspaceId, handId, recipe: reader });
    return await keeper.read(request, async (sandbox, stop) => {
      const signal = AbortSignal.any([stop, AbortSignal.timeout(CHECKPOINT_MS)]);
      const bytesMax = limits.checkpointBytesMax;
      const options = { blobs, workspaceId, bytesMax, path: ARCHIVE_PATH };
      const checkpoint = await takeCheckpoint(sandbox, options, signal);
      // Written after the last result: it is in no checkpoint, and would go with the folder.
      if (await memory.hasNews(sandbox, request, signal)) await notes.holdMemory(handId);
      return checkpoint;
    });
  }

  /** Deletes the longest unused of the files that are kept elsewhere, while they are too many here. */
  async #makeRoom(): Promise<void> {
    const { limits, notes, report } = this.#options;
    const cached = notes
      .all()
      .filter(({ note }) => note.kept !== null && note.from === null && !note.holds_memory)
      .filter((hand) => this.#isAtRest(hand));
    const bytes = cached.reduce((sum, { note }) => sum + (note.kept?.size_bytes ?? 0), 0);
    const first = oldest(cached);
    if (first === undefined) return;
    const isTight = (await this.#options.freeDiskBytes()) < limits.freeDiskBytesMin;
    if (bytes <= limits.cacheBytesMax && !isTight) return;
    await notes.evict(first);
    report("files_evicted", { hand_id: first.handId, size_bytes: first.note.kept?.size_bytes });
  }
}

function oldest(hands: readonly KnownHand[]): KnownHand | undefined {
  return [...hands].sort((a, b) => a.lastUsedMs - b.lastUsedMs)[0];
}
