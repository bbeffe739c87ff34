import type { SessionKey } from "../../../packages/server/src/core/ports/event-log.ts";
import type { Claim } from "../../../packages/server/src/core/ports/sessions.ts";
import type { Store } from "../../../packages/server/src/core/ports/store.ts";
import { openSqliteStore } from "../../../packages/server/src/store/sqlite/sqlite-store.ts";

/** The product's own store, on a folder that no server has open. `onCommit` is called after each commit. */
export function openStore(data: string, onCommit: () => void = () => undefined): Store {
  return openSqliteStore({
    dataFolder: data,
    clock: { now: () => Date.now(), sleepUntil: async () => undefined },
    announcements: { publish: onCommit },
    onFailure: (error) => {
      throw error;
    },
  });
}

/** Takes the lease of these sessions, as a driver would; nothing else may be due. */
export async function claimAll(
  store: Store,
  keys: readonly SessionKey[],
): Promise<readonly Claim[]> {
  return await store.write(async (tx) => {
    for (const key of keys) await tx.queue.wake(key);
    return await tx.queue.claim({ holder: "benchmark", leaseMs: null, limit: keys.length });
  });
}
