import type { Actor, MemoryOperation, MemoryView } from "@drover/api";
import type { SessionKey } from "./event-log.ts";
import type { MemoryAcknowledgement } from "./memory-copies.ts";
import type { PageRequest } from "./sessions.ts";

/** Memory stores with their memories and the history of these. */

export interface MemoryStoreKey {
  readonly workspaceId: string;
  readonly storeId: string;
}

export interface MemoryStoreRecord {
  readonly workspace_id: string;
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly created_at: string;
  readonly updated_at: string;
  readonly archived_at: string | null;
}

export interface MemoryStoreListFilter {
  readonly createdAt?: { readonly gte?: string; readonly lte?: string };
  readonly includeArchived?: boolean;
}

export interface MemoryRecord {
  readonly workspace_id: string;
  readonly memory_store_id: string;
  readonly id: string;
  /** The version that holds the content. */
  readonly memory_version_id: string;
  readonly path: string;
  /** Null where it was not asked for. */
  readonly content: string | null;
  /** Lowercase hex SHA-256 of the content's UTF-8. */
  readonly content_sha256: string;
  readonly content_size_bytes: number;
  readonly created_at: string;
  readonly updated_at: string;
}

/** A memory with its content, as it is written. */
export type WholeMemory = MemoryRecord & { readonly content: string };

export interface MemoryVersionRecord {
  readonly workspace_id: string;
  readonly memory_store_id: string;
  readonly id: string;
  /** Its place in the store's history: 1, 2, 3 … */
  readonly seq: number;
  readonly memory_id: string;
  readonly operation: MemoryOperation;
  /** Null once it was redacted. */
  readonly path: string | null;
  /** These three are null after a deletion and a redaction; `content` also where it was not asked for. */
  readonly content: string | null;
  readonly content_sha256: string | null;
  readonly content_size_bytes: number | null;
  readonly created_at: string;
  readonly created_by: Actor;
  readonly redacted_at: string | null;
  readonly redacted_by: Actor | null;
}

/** Which memories, in the order of their paths by bytes. */
export interface MemoryRange {
  /** Those in this folder (it ends with `/`), however deep. */
  readonly folder?: string | undefined;
  /** Those after this path, or after all that is in this folder. */
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface MemoryVersionListFilter {
  readonly memoryId?: string | undefined;
  readonly operation?: MemoryOperation | undefined;
  readonly createdBy?: readonly Actor[];
  readonly createdAt?: { readonly gte?: string; readonly lte?: string };
}

/** Changes with every write of a memory in the store, and with nothing else. */
export interface StoreRevision {
  readonly memory_store_id: string;
  /** The `seq` of its newest version; 0 for none. */
  readonly revision: number;
}

/** Whatever is not in the workspace, or not in the store, is undefined or left out. */
export interface MemoryStores {
  find(workspaceId: string, id: string): Promise<MemoryStoreRecord | undefined>;
  list(
    workspaceId: string,
    filter: MemoryStoreListFilter,
    page: PageRequest,
  ): Promise<readonly MemoryStoreRecord[]>;
  findMemory(key: MemoryStoreKey, id: string, view: MemoryView): Promise<MemoryRecord | undefined>;
  /** Without contents, which are not even read. */
  listMemories(key: MemoryStoreKey, range: MemoryRange): Promise<readonly MemoryRecord[]>;
  /** In any order. Few and cheap to read: asked for before each call of a session with memory stores. */
  findRevisions(workspaceId: string, ids: readonly string[]): Promise<readonly StoreRevision[]>;
  /** The newest report of the session's sandbox that is stored. */
  findCopy(key: SessionKey): Promise<MemoryAcknowledgement | undefined>;
  /** With contents, in any order. */
  findMemories(key: MemoryStoreKey, ids: readonly string[]): Promise<readonly MemoryRecord[]>;
  findVersion(
    key: MemoryStoreKey,
    id: string,
    view: MemoryView,
  ): Promise<MemoryVersionRecord | undefined>;
  /** Newest first; `after` is the `seq` of the last one seen. */
  listVersions(
    key: MemoryStoreKey,
    filter: MemoryVersionListFilter,
    page: {
      readonly limit: number;
      readonly after?: number | undefined;
      readonly view: MemoryView;
    },
  ): Promise<readonly MemoryVersionRecord[]>;
}

/**
 * A write of a memory adds the version that it names, made now by whom it is told. No path of a
 * store's memories is above or below another one's, however many write at once: a memory whose path
 * is taken in this sense is refused with a `MemoryPathConflictError` that names the one in the way.
 */
export interface MemoryStoreWriter extends MemoryStores {
  insert(store: MemoryStoreRecord): Promise<void>;
  update(store: MemoryStoreRecord): Promise<void>;
  /** With its memories and their versions. */
  delete(key: MemoryStoreKey): Promise<void>;
  /** As `find`. What is then read of its memories stays true until the transaction ends. */
  lock(key: MemoryStoreKey): Promise<MemoryStoreRecord | undefined>;
  /** Replaces what `findCopy` gives. Goes with the session. */
  putCopy(key: SessionKey, acknowledgement: MemoryAcknowledgement): Promise<void>;
  countMemories(key: MemoryStoreKey): Promise<number>;
  insertMemory(memory: WholeMemory, by: Actor): Promise<void>;
  updateMemory(memory: WholeMemory, by: Actor): Promise<void>;
  /** Its versions stay; the one that tells of the deletion gets the id given. */
  deleteMemory(memory: MemoryRecord, versionId: string, by: Actor): Promise<void>;
  /** Takes path, content, hash and size from a version. */
  redactVersion(key: MemoryStoreKey, id: string, by: Actor): Promise<void>;
}
