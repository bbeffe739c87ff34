import type { BlobRef } from "./blobs.ts";
import type { HandReport } from "./hand-records.ts";
import type { ProvisionRequest } from "./sandbox.ts";

/** What is kept of a hand's files, so that another hand can begin with them. */
export interface Checkpoints {
  /**
   * Puts what is in the hand's folders now into the blob store of its workspace, as one archive that
   * only `Recipe.checkpoint` understands. Nothing of the hand may run meanwhile, or it is of no use. Never rejects.
   */
  take(hand: ProvisionRequest, signal: AbortSignal): Promise<CheckpointOutcome>;
}

/** What hands keep of the files of idle sandboxes by themselves. */
export interface KeptFiles {
  /** Reports to be committed, some of them where there are many. Starts no hands. Never rejects. */
  reports(): Promise<readonly HandReport[]>;
  /** The report is committed and may be forgotten. Never rejects: what was not heard is told again. */
  acknowledge(report: HandReport): Promise<void>;
}

export type CheckpointOutcome =
  | { readonly type: "taken"; readonly checkpoint: BlobRef }
  /** It cannot be had, and asking again changes nothing. A sentence says why. */
  | { readonly type: "refused"; readonly message: string }
  /** No hands or no sandbox can be had now. */
  | { readonly type: "unavailable"; readonly message: string };
