import { createHash } from "node:crypto";
import type { BlobRef, Blobs } from "../core/ports/blobs.ts";

/** Blobs in memory, for tests. */
export class MemoryBlobs implements Blobs {
  readonly #contents = new Map<string, Uint8Array>();

  async put(workspaceId: string, content: AsyncIterable<Uint8Array>): Promise<BlobRef> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of content) chunks.push(chunk.slice());
    const bytes = Buffer.concat(chunks);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    this.#contents.set(keyOf(workspaceId, sha256), bytes);
    return { sha256, size_bytes: bytes.byteLength };
  }

  async get(
    workspaceId: string,
    sha256: string,
    range?: { start: number; end: number },
  ): Promise<AsyncIterable<Uint8Array> | undefined> {
    const bytes = this.#contents.get(keyOf(workspaceId, sha256));
    return bytes && read(bytes.slice(range?.start, range?.end));
  }

  async delete(workspaceId: string, sha256: string): Promise<void> {
    this.#contents.delete(keyOf(workspaceId, sha256));
  }
}

function keyOf(workspaceId: string, sha256: string): string {
  return JSON.stringify([workspaceId, sha256]);
}

async function* read(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.byteLength > 0) yield bytes;
}
