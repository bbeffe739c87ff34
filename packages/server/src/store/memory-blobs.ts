import { createHash } from "node:crypto";
import type { BlobRef, Blobs, StoredBlob } from "../core/ports/blobs.ts";

/** Blobs in memory, for tests. */
export class MemoryBlobs implements Blobs {
  readonly #contents = new Map<string, { readonly bytes: Uint8Array; readonly putAt: number }>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  async put(workspaceId: string, content: AsyncIterable<Uint8Array>): Promise<BlobRef> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of content) chunks.push(chunk.slice());
    const bytes = Buffer.concat(chunks);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    this.#contents.set(keyOf(workspaceId, sha256), { bytes, putAt: this.#now() });
    return { sha256, size_bytes: bytes.byteLength };
  }

  async get(
    workspaceId: string,
    sha256: string,
    range?: { start: number; end: number },
  ): Promise<AsyncIterable<Uint8Array> | undefined> {
    const bytes = this.#contents.get(keyOf(workspaceId, sha256))?.bytes;
    return bytes && read(bytes.slice(range?.start, range?.end));
  }

  async delete(
    workspaceId: string,
    sha256: string,
    { putBefore = Number.POSITIVE_INFINITY }: { putBefore?: number } = {},
  ): Promise<void> {
    const key = keyOf(workspaceId, sha256);
    if ((this.#contents.get(key)?.putAt ?? 0) < putBefore) this.#contents.delete(key);
  }

  async *list(putBefore: number): AsyncGenerator<StoredBlob> {
    for (const [key, { putAt }] of this.#contents) {
      const [workspaceId, sha256] = JSON.parse(key) as [string, string];
      if (putAt < putBefore) yield { workspaceId, sha256 };
    }
  }
}

function keyOf(workspaceId: string, sha256: string): string {
  return JSON.stringify([workspaceId, sha256]);
}

async function* read(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.byteLength > 0) yield bytes;
}
