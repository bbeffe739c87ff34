import type { OutputFile } from "../core/ports/hands.ts";
import type { SessionRecord } from "../core/ports/sessions.ts";
import type { StoreTransaction } from "../core/ports/store.ts";
import { mimeTypeOf } from "../lib/mime-type.ts";

/** Records what a call left under `/mnt/session/outputs` as files of the session, to be downloaded. */
export async function putOutputs(
  tx: StoreTransaction,
  session: SessionRecord,
  outputs: readonly OutputFile[],
  newId: (prefix: string) => string,
): Promise<void> {
  for (const { path, sha256, size_bytes } of outputs) {
    await tx.files.putOutput({
      workspace_id: session.workspace_id,
      id: newId("file"),
      filename: path,
      mime_type: mimeTypeOf(path),
      size_bytes,
      sha256,
      created_at: tx.now,
      expires_at: null,
      session_id: session.id,
      downloadable: true,
      output_path: path,
    });
  }
}
