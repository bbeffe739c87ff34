import type { LooseBlobs } from "../../core/ports/records.ts";
import { canonical } from "../queries/pages.ts";
import { compareText, type MemoryTransaction } from "./memory-data.ts";

export function memoryLooseBlobs(tx: MemoryTransaction): LooseBlobs {
  return {
    add: async (workspaceId, sha256) => addLooseBlob(tx, workspaceId, sha256),
    list: async (before, limit) =>
      tx
        .data()
        .looseBlobs.filter(({ since }) => since < canonical(before))
        .sort(
          (a, b) =>
            compareText(a.since, b.since) ||
            compareText(a.workspaceId, b.workspaceId) ||
            compareText(a.sha256, b.sha256),
        )
        .slice(0, limit),
    remove: async ({ workspaceId, sha256, since }) => {
      const { looseBlobs } = tx.data();
      if (looseBlobs.get(workspaceId, sha256)?.since === since) {
        looseBlobs.delete(workspaceId, sha256);
      }
    },
  };
}

export function addLooseBlob(tx: MemoryTransaction, workspaceId: string, sha256: string): void {
  tx.data().looseBlobs.set({ workspaceId, sha256, since: tx.now }, workspaceId, sha256);
}
