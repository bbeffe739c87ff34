import type { Blobs } from "../core/ports/blobs.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { LooseBlob } from "../core/ports/records.ts";
import type { Store } from "../core/ports/store.ts";

/** Longer than it takes from storing a blob to committing what refers to it. */
const DELAY_MS = 10 * 60_000;
const LOOK_MS = 60_000;
const BATCH = 64;

interface BlobCollectorOptions {
  readonly store: Pick<Store, "write">;
  readonly blobs: Pick<Blobs, "delete">;
  readonly clock: Clock;
}

/**
 * Takes the content away from files that have expired, and deletes what lost its last reference, later: whoever stores the same content in between
 * does so before saying that it is needed, and must not lose it. For the same reason nothing is
 * deleted in the first minutes: what a call left behind is committed by then. Works until the signal
 * is aborted. Rejects if a blob cannot be deleted or the store fails; may be called again.
 */
export async function collectBlobs(
  options: BlobCollectorOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock } = options;
  await clock.sleepUntil(clock.now() + DELAY_MS, signal);
  while (!signal.aborted) {
    const collected = await collectSome(options, signal);
    if (collected < BATCH) await clock.sleepUntil(clock.now() + LOOK_MS, signal);
  }
}

async function collectSome(
  { store, blobs, clock }: BlobCollectorOptions,
  signal: AbortSignal,
): Promise<number> {
  const now = new Date(clock.now()).toISOString();
  const expired = await store.write((tx) => tx.files.purgeExpired(now, BATCH));
  const before = new Date(clock.now() - DELAY_MS).toISOString();
  const loose = await store.write((tx) => tx.looseBlobs.list(before, BATCH));
  for (const blob of loose) {
    if (signal.aborted) break;
    await collect({ store, blobs }, blob);
  }
  return Math.max(expired, loose.length);
}

/** The note goes last: a process that dies in between leaves it, and deleting twice is once. */
async function collect(
  { store, blobs }: Pick<BlobCollectorOptions, "store" | "blobs">,
  blob: LooseBlob,
): Promise<void> {
  const { workspaceId, sha256, since } = blob;
  const isReferenced = await store.write((tx) => tx.files.isReferenced(workspaceId, sha256));
  try {
    if (!isReferenced) await blobs.delete(workspaceId, sha256, { putBefore: Date.parse(since) });
  } catch (error) {
    // To the end of the line, so that it does not keep the others waiting.
    await store.write((tx) => tx.looseBlobs.add(workspaceId, sha256));
    throw error;
  }
  await store.write((tx) => tx.looseBlobs.remove(blob));
}
