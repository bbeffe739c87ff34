import { createHash } from "node:crypto";
import type { BlobRef, Blobs } from "../../core/ports/blobs.ts";

/** Blobs in memory, for tests of the hands. */
export class BlobsInMap implements Blobs {
  readonly contents = new Map<string, Uint8Array>();

  async put(workspaceId: string, content: AsyncIterable<Uint8Array>): Promise<BlobRef> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of content) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    this.contents.set(`${workspaceId}/${sha256}`, bytes);
    return { sha256, size_bytes: bytes.byteLength };
  }

  async get(workspaceId: string, sha256: string): Promise<AsyncIterable<Uint8Array> | undefined> {
    const bytes = this.contents.get(`${workspaceId}/${sha256}`);
    return (
      bytes &&
      (async function* () {
        yield bytes;
      })()
    );
  }

  async delete(workspaceId: string, sha256: string): Promise<void> {
    this.contents.delete(`${workspaceId}/${sha256}`);
  }
}
