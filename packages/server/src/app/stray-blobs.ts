import type { Blobs, StoredBlob } from "../core/ports/blobs.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { Store } from "../core/ports/store.ts";
import { INSTALLED_WORKSPACE } from "./installed-skills.ts";

const LOOK_MS = 24 * 60 * 60_000;
/**
 * What was put later may be wanted yet: by a call whose result waits in the hands of another server, which
 * is down.
 */
const AGE_MS = 24 * 60 * 60_000;
/** After a start, when there is other work to do. */
const DELAY_MS = 15 * 60_000;
const BATCH = 64;

interface StrayBlobOptions {
  readonly store: Pick<Store, "write">;
  readonly blobs: Pick<Blobs, "list">;
  readonly clock: Clock;
}

/**
 * Notes content as loose that nothing refers to although nothing says so: whoever stored it died before
 * that was committed. Goes through all of it once a day, until the signal is aborted. Rejects if the blobs
 * cannot be listed or the store fails; may be called again.
 */
export async function noteStrayBlobs(
  { store, blobs, clock }: StrayBlobOptions,
  signal: AbortSignal,
): Promise<void> {
  await clock.sleepUntil(clock.now() + DELAY_MS, signal);
  while (!signal.aborted) {
    for await (const batch of inBatches(blobs.list(clock.now() - AGE_MS))) {
      if (signal.aborted) return;
      await noteUnreferenced(store, batch);
    }
    await clock.sleepUntil(clock.now() + LOOK_MS, signal);
  }
}

async function* inBatches(found: AsyncIterable<StoredBlob>): AsyncGenerator<readonly StoredBlob[]> {
  let batch: StoredBlob[] = [];
  for await (const blob of found) {
    // Those that ship along are referred to by every session that has them, under its own workspace.
    if (blob.workspaceId === INSTALLED_WORKSPACE) continue;
    batch.push(blob);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

async function noteUnreferenced(
  store: Pick<Store, "write">,
  batch: readonly StoredBlob[],
): Promise<void> {
  await store.write(async (tx) => {
    for (const { workspaceId, sha256 } of batch) {
      if (await tx.files.isReferenced(workspaceId, sha256)) continue;
      await tx.looseBlobs.add(workspaceId, sha256);
    }
  });
}
