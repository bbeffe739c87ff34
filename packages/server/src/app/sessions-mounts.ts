import type { FileResource, SessionResourceParams } from "@drover/api";
import { InvalidRequestError, NotFoundError } from "../core/errors.ts";
import type { FileMount } from "../core/ports/hands.ts";
import type { FileRecord } from "../core/ports/records.ts";
import type { StoreTransaction } from "../core/ports/store.ts";
import { newId } from "../lib/new-id.ts";

const UPLOADS = "/mnt/session/uploads";
const PATH_LENGTH_MAX = 1_024;
/** Bytes, as the usual file systems have it. */
const SEGMENT_BYTES_MAX = 255;

export interface Mounted {
  readonly resources: readonly FileResource[];
  readonly mounts: readonly FileMount[];
}

/**
 * Gives the session its own copy of each file, under a new id, and a place for it below
 * `/mnt/session/uploads`. Rejects with the problem's place named. Other kinds of resources must have
 * been refused before.
 */
export async function mountFiles(
  tx: StoreTransaction,
  session: { workspaceId: string; sessionId: string },
  params: readonly SessionResourceParams[],
): Promise<Mounted> {
  const files = params.filter((resource) => resource.type === "file");
  const paths = files.map((file, index) =>
    mountPath(file.mount_path ?? file.file_id, `resources.${index}.mount_path`),
  );
  assertDistinct(paths);
  const resources: FileResource[] = [];
  const mounts: FileMount[] = [];
  for (const [index, { file_id }] of files.entries()) {
    const source = await getSource(tx, session.workspaceId, file_id, `resources.${index}.file_id`);
    const copy = copyOf(source, session.sessionId, tx.now);
    await tx.files.insert(copy);
    const mount_path = paths[index] ?? "";
    resources.push({
      type: "file",
      file_id: copy.id,
      id: newId("sesrsc"),
      mount_path,
      created_at: tx.now,
      updated_at: tx.now,
    });
    mounts.push({
      type: "file",
      mount_path,
      sha256: source.sha256,
      size_bytes: source.size_bytes,
    });
  }
  return { resources, mounts };
}

/** Absolute, normalised and below the uploads; what is not yet below is rooted there. */
export function mountPath(path: string, place: string): string {
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== ".");
  const isRooted = `/${segments.slice(0, 3).join("/")}` === UPLOADS && path.startsWith("/");
  const below = isRooted ? segments.slice(3) : segments;
  if (below.length === 0 || path.endsWith("/")) {
    throw new InvalidRequestError(`${place}: must name a file`);
  }
  if (below.includes("..")) throw new InvalidRequestError(`${place}: must not contain ..`);
  if (below.some((segment) => /\p{Cc}/u.test(segment))) {
    throw new InvalidRequestError(`${place}: must not contain control characters`);
  }
  if (below.some((segment) => Buffer.byteLength(segment) > SEGMENT_BYTES_MAX)) {
    throw new InvalidRequestError(`${place}: a name is longer than ${SEGMENT_BYTES_MAX} bytes`);
  }
  const full = `${UPLOADS}/${below.join("/")}`;
  if (full.length > PATH_LENGTH_MAX) {
    throw new InvalidRequestError(`${place}: is longer than ${PATH_LENGTH_MAX} characters`);
  }
  return full;
}

/** No path may be another's, or lie below another's: a file is not also a folder. */
function assertDistinct(paths: readonly string[]): void {
  const sorted = paths.map((path) => `${path}/`).toSorted();
  for (const [index, path] of sorted.entries()) {
    const next = sorted[index + 1];
    if (next?.startsWith(path)) {
      throw new InvalidRequestError(
        `resources: two files cannot be mounted at ${path.slice(0, -1)} and ${next.slice(0, -1)}`,
      );
    }
  }
}

async function getSource(
  tx: StoreTransaction,
  workspaceId: string,
  fileId: string,
  place: string,
): Promise<FileRecord> {
  const file = await tx.files.find(workspaceId, fileId);
  if (file === undefined) throw new NotFoundError(`${place}: there is no file ${fileId}`);
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
