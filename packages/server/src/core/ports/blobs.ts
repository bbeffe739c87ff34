/**
 * Content-addressed bytes, apart from the database. Written once, never changed.
 *
 * What every implementation promises (proved by `blobs.testsuite.ts`):
 * - `put` returns only when the content is durable; the same content twice is one blob.
 * - A blob of one workspace cannot be read through another's id.
 * - A half-written blob is never visible, whatever is killed when.
 */
export interface Blobs {
  /** Streams the content in; memory use does not grow with its size. Rejects with `StoreUnavailableError` when the disk is full. */
  put(workspaceId: string, content: AsyncIterable<Uint8Array>): Promise<BlobRef>;
  /** Undefined if there is no such blob. `end` is exclusive. */
  get(
    workspaceId: string,
    sha256: string,
    range?: { start: number; end: number },
  ): Promise<AsyncIterable<Uint8Array> | undefined>;
  /**
   * A no-op if it is gone already. With `putBefore` (milliseconds since 1970) also if the content was
   * put at that time or later, even if it was there before: then somebody is about to refer to it.
   */
  delete(workspaceId: string, sha256: string, options?: { putBefore?: number }): Promise<void>;
  /**
   * All that were put before `putBefore` (milliseconds since 1970) and not again since, in no order. What comes and
   * goes meanwhile may be among them or not.
   */
  list(putBefore: number): AsyncIterable<StoredBlob>;
}

export interface StoredBlob {
  readonly workspaceId: string;
  readonly sha256: string;
}

export interface BlobRef {
  /** Lowercase hex. */
  readonly sha256: string;
  readonly size_bytes: number;
}
