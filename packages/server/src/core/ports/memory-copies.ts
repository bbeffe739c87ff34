import type { HandFiles, MemoryReport } from "./hands.ts";

/** What a hand's copy of its memory stores is to be like. */
export interface MemoryOffer {
  readonly handId: string;
  readonly handsBoot: string;
  /** Which of the states of the hand's files it is for: what is there of another goes first. As in `HandCall`. */
  readonly files?: HandFiles;
  /** The newest report of the hand's that was committed; null if none was. */
  readonly acknowledged: MemoryAcknowledgement | null;
  /** Of those that are named, the whole; the others are as they were. */
  readonly stores: readonly StoreSnapshot[];
  /** Contents that the hands said they lack. */
  readonly contents: readonly string[];
}

export interface MemoryAcknowledgement extends Pick<MemoryReport, "copy_id" | "seq"> {
  /** Changes that were not taken: the files are to stay, and to be offered again once they differ. */
  readonly refused: readonly { readonly memory_store_id: string; readonly path: string }[];
}

/** Which memories a store has. */
export interface StoreSnapshot {
  readonly memory_store_id: string;
  /** Higher for every later state of the store. */
  readonly revision: number;
  /** None for a store that is gone. */
  readonly entries: readonly SnapshotEntry[];
}

export interface SnapshotEntry {
  readonly path: string;
  /** Lowercase hex SHA-256 of the content's UTF-8. */
  readonly sha256: string;
  readonly size_bytes: number;
}

/** The memory stores of hands, as their sandboxes see them. */
export interface MemoryCopies {
  /**
   * Tells what the stores are like; the hand's next call begins with files that are. Nothing that was
   * changed there and is not acknowledged is overwritten. An older revision than the hands have is
   * ignored. Never rejects.
   */
  offer(offer: MemoryOffer, signal: AbortSignal): Promise<MemoryOfferOutcome>;
}

export type MemoryOfferOutcome =
  /** Hashes of the contents that are still to be offered; with none, all is there. */
  | { readonly type: "taken"; readonly missing: readonly string[] }
  /** Those hands are gone or cannot be reached. */
  | { readonly type: "unavailable"; readonly message: string };
