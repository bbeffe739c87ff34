import type { Blobs } from "../core/ports/blobs.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { Store } from "../core/ports/store.ts";

/** Longer than it takes from storing a blob to committing what refers to it. */
const DELAY_MS = 10 * 60_000;
/** Blobs waiting. What comes beyond that stays on disk; nothing else is lost. */
const WAITING_MAX = 10_000;

/**
 * Deletes the content of deleted files, later: whoever stores the same content in between does so
 * before saying that it is needed, and must not lose it. What waits when the process ends is kept.
 */
export interface BlobCollector {
  /** Deletes the blobs after a while, unless something refers to them then. Never rejects. */
  collectLater(workspaceId: string, sha256s: readonly string[]): void;
  /** Works until the signal is aborted. Rejects if a blob cannot be deleted; may be called again. */
  run(signal: AbortSignal): Promise<void>;
}

interface Waiting {
  readonly workspaceId: string;
  readonly sha256: string;
  readonly since: number;
}

interface BlobCollectorOptions {
  readonly store: Store;
  readonly blobs: Pick<Blobs, "delete">;
  readonly clock: Clock;
}

export function createBlobCollector({ store, blobs, clock }: BlobCollectorOptions): BlobCollector {
  const waiting: Waiting[] = [];

  async function collect({ workspaceId, sha256, since }: Waiting): Promise<void> {
    const isReferenced = await store.write((tx) => tx.files.isReferenced(workspaceId, sha256));
    if (!isReferenced) await blobs.delete(workspaceId, sha256, { putBefore: since });
  }

  return {
    collectLater: (workspaceId, sha256s) => {
      const room = WAITING_MAX - waiting.length;
      for (const sha256 of sha256s.slice(0, Math.max(0, room))) {
        waiting.push({ workspaceId, sha256, since: clock.now() });
      }
    },
    run: async (signal) => {
      while (!signal.aborted) {
        const due = (waiting[0]?.since ?? clock.now()) + DELAY_MS;
        await clock.sleepUntil(due, signal);
        const next = waiting[0];
        if (signal.aborted || next === undefined || next.since + DELAY_MS > clock.now()) continue;
        waiting.shift();
        await collect(next);
      }
    },
  };
}
