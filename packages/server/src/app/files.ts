import {
  type FileDeleted,
  type FileListQuery,
  type FileMetadata,
  idPrefixes,
  type Page,
} from "@drover/api";
import { InvalidRequestError, NotFoundError } from "../core/errors.ts";
import { storedFilename } from "../core/files/filename.ts";
import { storedMimeType } from "../core/files/mime-type.ts";
import type { BlobRef, Blobs } from "../core/ports/blobs.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { LiveOutputs } from "../core/ports/hands.ts";
import type { Files as FileReader, FileRecord } from "../core/ports/records.ts";
import type { Store, StoreTransaction } from "../core/ports/store.ts";
import { IdleOutputs } from "./idle-outputs.ts";
import { type Cursors, readPage } from "./pagination.ts";
import type { NewId, Principal } from "./principal.ts";
import { detachFile } from "./sessions-resources.ts";

const EXPIRY_SECONDS = { min: 3600, max: 7_776_000 };

export interface Upload {
  /** As sent; only its last part is kept. */
  readonly filename?: string | undefined;
  /** As sent; `application/octet-stream` counts as nothing said. */
  readonly mimeType?: string | undefined;
  readonly expiresInSeconds?: number | undefined;
  /** The content, already in the blob store under the principal's workspace. */
  readonly blob: BlobRef;
}

export interface FileContent {
  readonly file: FileMetadata;
  readonly bytes: AsyncIterable<Uint8Array>;
}

export interface Files {
  /** Rejects with `storage_quota_exceeded` if the workspace would then have more than it may. */
  upload(tx: StoreTransaction, principal: Principal, upload: Upload): Promise<FileMetadata>;
  /** Also of an expired file, until it is deleted. */
  retrieve(workspaceId: string, id: string): Promise<FileMetadata>;
  /**
   * Rejects with `file_not_downloadable` for what was uploaded and with `file_expired` for what has
   * expired: only what an agent made can be downloaded.
   */
  download(workspaceId: string, id: string): Promise<FileContent>;
  /** Newest first; with `ids` one page of those that exist, in the order asked for. */
  list(workspaceId: string, query: FileListQuery): Promise<Page<FileMetadata>>;
  /**
   * Its content goes later, unless something else has it by then. A session's own copy is taken out of the
   * session with it.
   */
  delete(tx: StoreTransaction, principal: Principal, id: string): Promise<FileDeleted>;
  /** Lets content go that was stored for an upload which was refused. */
  discard(workspaceId: string, blob: BlobRef): Promise<void>;
}

interface FilesOptions {
  readonly store: Store;
  readonly blobs: Pick<Blobs, "get">;
  readonly clock: Clock;
  readonly cursors: Cursors;
  readonly newId: NewId;
  /** Those of hands whose session rests; none without hands. */
  readonly liveOutputs?: LiveOutputs | undefined;
  /** Bytes of contents that a workspace may have, each counted once; without it there is no end. */
  readonly filesBytesMax?: number | undefined;
}

export function createFiles(options: FilesOptions): Files {
  const { store, clock, newId, filesBytesMax: bytesMax, liveOutputs } = options;
  const idleOutputs = liveOutputs && new IdleOutputs({ store, liveOutputs, newId });
  return {
    upload: async (tx, { workspaceId }, upload) => {
      const record = uploadedFile(upload, { workspaceId, id: newId(idPrefixes.file), now: tx.now });
      await tx.files.insert(record);
      if (bytesMax !== undefined && (await tx.files.contentBytes(workspaceId)) > bytesMax) {
        throw new InvalidRequestError(
          `file: with it the workspace would have more than ${bytesMax} bytes; delete files`,
          { code: "storage_quota_exceeded" },
        );
      }
      return fileOf(record);
    },
    retrieve: async (workspaceId, id) => fileOf(await getFile(store.files, workspaceId, id)),
    download: async (workspaceId, id) => {
      const record = await getFile(store.files, workspaceId, id);
      assertNotExpired(record, clock.now());
      if (!record.downloadable) {
        throw new InvalidRequestError(`file ${id} was uploaded: only outputs can be downloaded`, {
          code: "file_not_downloadable",
        });
      }
      const bytes = await options.blobs.get(workspaceId, record.sha256);
      if (bytes === undefined) throw new Error(`the content of file ${id} is missing`);
      return { file: fileOf(record), bytes };
    },
    list: async (workspaceId, query) => {
      const { scope_id: sessionId } = query;
      const isFirstPage = sessionId !== undefined && query.page === undefined;
      if (isFirstPage) await idleOutputs?.record({ workspaceId, sessionId });
      return await listFiles(options, workspaceId, query);
    },
    delete: async (tx, { workspaceId }, id) => {
      const file = await getFile(tx.files, workspaceId, id);
      if (file.session_id !== null && file.output_path === null) {
        await detachFile(tx, { workspaceId, sessionId: file.session_id }, id);
      }
      await tx.files.delete(workspaceId, id);
      return { id, type: "file_deleted" };
    },
    discard: (workspaceId, { sha256 }) =>
      store.write((tx) => tx.looseBlobs.add(workspaceId, sha256)),
  };
}

/** The resource as the API shows it. */
export function fileOf(record: FileRecord): FileMetadata {
  const { id, filename, mime_type, size_bytes, created_at, downloadable, expires_at } = record;
  const scope =
    record.session_id === null ? null : ({ type: "session", id: record.session_id } as const);
  return {
    id,
    type: "file",
    filename,
    mime_type,
    size_bytes,
    created_at,
    downloadable,
    expires_at,
    scope,
  };
}

/** Rejects with `file_expired`; `nowMs` is in milliseconds since 1970. */
export function assertNotExpired(file: FileRecord, nowMs: number): void {
  if (file.expires_at !== null && Date.parse(file.expires_at) <= nowMs) {
    throw new NotFoundError(`file ${file.id} expired at ${file.expires_at}`, {
      code: "file_expired",
    });
  }
}

async function listFiles(
  { store, cursors }: FilesOptions,
  workspaceId: string,
  query: FileListQuery,
): Promise<Page<FileMetadata>> {
  const { ids, scope_id: sessionId } = query;
  if (ids !== undefined) {
    const found = await store.files.findMany(workspaceId, ids);
    const byId = new Map(found.map((record) => [record.id, record]));
    const records = ids.flatMap((id) => byId.get(id) ?? []);
    const inScope = (record: FileRecord) =>
      sessionId === undefined || record.session_id === sessionId;
    return { data: records.filter(inScope).map(fileOf), next_page: null };
  }
  const { data, next_page } = await readPage({
    cursors,
    scope: { workspaceId, list: "files", order: "desc" },
    query,
    read: (page) =>
      store.files.list(workspaceId, sessionId === undefined ? {} : { sessionId }, page),
    present: fileOf,
  });
  return { data, next_page };
}

function uploadedFile(
  { filename, mimeType, expiresInSeconds, blob }: Upload,
  { workspaceId, id, now }: { workspaceId: string; id: string; now: string },
): FileRecord {
  const mime_type = storedMimeType(mimeType, filename);
  return {
    workspace_id: workspaceId,
    id,
    filename: storedFilename(filename, mime_type),
    mime_type,
    size_bytes: blob.size_bytes,
    sha256: blob.sha256,
    created_at: now,
    expires_at: expiryOf(now, expiresInSeconds),
    session_id: null,
    downloadable: false,
    output_path: null,
  };
}

function expiryOf(now: string, seconds: number | undefined): string | null {
  if (seconds === undefined) return null;
  const { min, max } = EXPIRY_SECONDS;
  if (!Number.isInteger(seconds) || seconds < min || seconds > max) {
    throw new InvalidRequestError(`expires_in_seconds: must be between ${min} and ${max}`);
  }
  return new Date(Date.parse(now) + seconds * 1000).toISOString();
}

async function getFile(
  files: Pick<FileReader, "find">,
  workspaceId: string,
  id: string,
): Promise<FileRecord> {
  const record = await files.find(workspaceId, id);
  if (record === undefined) throw new NotFoundError(`there is no file ${id}`);
  return record;
}
