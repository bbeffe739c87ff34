import type { FileResource, FileResourceParams } from "@drover/api";
import { NotFoundError } from "../core/errors.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { FileMount } from "../core/ports/hands.ts";
import type { FileRecord } from "../core/ports/records.ts";
import type { StoreTransaction } from "../core/ports/store.ts";
import { uploadPath } from "../core/sessions/mount-paths.ts";
import { newId } from "../lib/new-id.ts";

export interface MountedFile {
  readonly resource: FileResource;
  readonly mount: FileMount;
}

/**
 * Gives the session its own copy of a file, under a new id, and a place for it below
 * `/mnt/session/uploads`. `place` stands before the names of fields in errors, such as `resources.0.`.
 */
export async function mountFile(
  tx: StoreTransaction,
  key: SessionKey,
  { params, resourceId, place }: { params: FileResourceParams; resourceId: string; place: string },
): Promise<MountedFile> {
  const { file_id } = params;
  const mount_path = uploadPath(params.mount_path ?? file_id, `${place}mount_path`);
  const source = await getSource(tx, key.workspaceId, file_id, `${place}file_id`);
  const copy = copyOf(source, key.sessionId, tx.now);
  await tx.files.insert(copy);
  const { sha256, size_bytes, filename } = source;
  return {
    resource: {
      type: "file",
      file_id: copy.id,
      id: resourceId,
      mount_path,
      created_at: tx.now,
      updated_at: tx.now,
    },
    mount: { type: "file", mount_path, sha256, size_bytes, filename },
  };
}

async function getSource(
  tx: StoreTransaction,
  workspaceId: string,
  fileId: string,
  place: string,
): Promise<FileRecord> {
  const file = await tx.files.find(workspaceId, fileId);
  if (file === undefined) {
    throw new NotFoundError(`${place}: there is no file ${fileId}`, { code: "file_not_found" });
  }
  if (file.expires_at !== null && file.expires_at <= tx.now) {
    throw new NotFoundError(`${place}: file ${fileId} has expired`, { code: "file_expired" });
  }
  return file;
}

/** Lives as long as its session, whatever becomes of the original. */
function copyOf(source: FileRecord, sessionId: string, now: string): FileRecord {
  return {
    ...source,
    id: newId("file"),
    session_id: sessionId,
    created_at: now,
    expires_at: null,
    downloadable: false,
    output_path: null,
  };
}
