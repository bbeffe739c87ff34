import type { MemoryReport } from "./hands.ts";

/** How far the changes of a hand's copy of its memory stores are stored. */
export interface MemoryAcknowledgement extends Pick<MemoryReport, "copy_id" | "seq"> {
  /** Changes that were not taken: the files are to stay, and to be offered again once they differ. */
  readonly refused: readonly { readonly memory_store_id: string; readonly path: string }[];
}
