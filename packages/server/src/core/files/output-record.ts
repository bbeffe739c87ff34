import { mimeTypeOf } from "../../lib/mime-type.ts";
import type { OutputFile } from "../ports/hands.ts";
import type { FileRecord } from "../ports/records.ts";
import type { SessionRecord } from "../ports/sessions.ts";

/** What is recorded of a file that was left under `/mnt/session/outputs`. `now` is RFC 3339. */
export function outputRecord(
  { path, sha256, size_bytes }: OutputFile,
  { id, session, now }: { id: string; session: SessionRecord; now: string },
): FileRecord {
  return {
    workspace_id: session.workspace_id,
    id,
    filename: path,
    mime_type: mimeTypeOf(path),
    size_bytes,
    sha256,
    created_at: now,
    expires_at: null,
    session_id: session.id,
    downloadable: true,
    output_path: path,
  };
}
