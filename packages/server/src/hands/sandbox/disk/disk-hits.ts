import { statfsSync } from "node:fs";
import type { LimitHit } from "../../../core/sandboxes/limits.ts";

/** With less than this a program that writes is refused within a moment. */
const FULL_BYTES = 1024 * 1024;

export interface DiskRoom {
  readonly freeBytes: number;
  readonly freeFiles: number;
}

interface Disks {
  /** The size of the sandbox's own file system; undefined if it has none. */
  readonly diskBytes: number | undefined;
  /** On the file system of the host that all of it is kept on. */
  readonly handFolder: string;
}

/**
 * The limits on the disk that are met at this moment. `measure` asks the inside for what is left of the
 * sandbox's own file system.
 */
export async function diskHits(
  { diskBytes, handFolder }: Disks,
  measure: () => Promise<DiskRoom>,
): Promise<readonly LimitHit[]> {
  const hits: LimitHit[] = [];
  if (diskBytes !== undefined) {
    const { freeBytes, freeFiles } = await measure();
    if (freeBytes < FULL_BYTES) hits.push({ type: "disk", limitBytes: diskBytes, of: "bytes" });
    else if (freeFiles === 0) hits.push({ type: "disk", limitBytes: diskBytes, of: "files" });
  }
  // It stands before every result, and takes less than its turn in a thread.
  const host = statfsSync(handFolder);
  if (host.bavail * host.bsize < FULL_BYTES) hits.push({ type: "machine_disk" });
  return hits;
}
