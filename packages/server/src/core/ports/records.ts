import type { KeyRole } from "@drover/api";
import type { PageRequest } from "./sessions.ts";

/** The API's other resources, each a row with its wire shape as JSON in `body`. */

export interface AgentRecord {
  readonly workspace_id: string;
  readonly id: string;
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
  readonly archived_at: string | null;
  /** The definition in the wire's resolved form, without the fields above. */
  readonly body: Readonly<Record<string, unknown>>;
}

export interface AgentListFilter {
  readonly createdAt?: { gte?: string; lte?: string };
  readonly includeArchived?: boolean;
}

export interface Agents {
  /** The latest version, or the one asked for. Undefined if there is none in this workspace. */
  find(workspaceId: string, id: string, version?: number): Promise<AgentRecord | undefined>;
  list(
    workspaceId: string,
    filter: AgentListFilter,
    page: PageRequest,
  ): Promise<readonly AgentRecord[]>;
  /** All versions of one agent, newest first; `after` is the last version seen. */
  listVersions(
    workspaceId: string,
    id: string,
    page: { limit: number; after?: number },
  ): Promise<readonly AgentRecord[]>;
}

export interface AgentWriter extends Agents {
  /** Stores version 1, or a later version of an agent that exists; versions never change. */
  put(agent: AgentRecord): Promise<void>;
  archive(workspaceId: string, id: string, archivedAt: string): Promise<void>;
}

export interface EnvironmentRecord {
  readonly workspace_id: string;
  readonly id: string;
  readonly name: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly archived_at: string | null;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Environments {
  find(workspaceId: string, id: string): Promise<EnvironmentRecord | undefined>;
  list(
    workspaceId: string,
    filter: { includeArchived?: boolean },
    page: PageRequest,
  ): Promise<readonly EnvironmentRecord[]>;
}

export interface EnvironmentWriter extends Environments {
  /** Rejects with `ConflictError` if an unarchived one in the workspace has the name. */
  insert(environment: EnvironmentRecord): Promise<void>;
  /** As `insert` for the name. */
  update(environment: EnvironmentRecord): Promise<void>;
  delete(workspaceId: string, id: string): Promise<void>;
  /** True if a session that is not deleted was made in it. */
  isUsed(workspaceId: string, id: string): Promise<boolean>;
}

export interface FileRecord {
  readonly workspace_id: string;
  readonly id: string;
  readonly filename: string;
  readonly mime_type: string;
  readonly size_bytes: number;
  /** Key in the blob store; empty once the content of an expired file is gone. */
  readonly sha256: string;
  readonly created_at: string;
  readonly expires_at: string | null;
  /** The session it belongs to: an output of it, or the copy that is mounted in it. */
  readonly session_id: string | null;
  readonly downloadable: boolean;
  /** For outputs: relative to `/mnt/session/outputs`; unique within the session. */
  readonly output_path: string | null;
}

export interface Files {
  find(workspaceId: string, id: string): Promise<FileRecord | undefined>;
  findMany(workspaceId: string, ids: readonly string[]): Promise<readonly FileRecord[]>;
  list(
    workspaceId: string,
    filter: { sessionId?: string },
    page: PageRequest,
  ): Promise<readonly FileRecord[]>;
}

export interface FileWriter extends Files {
  insert(file: FileRecord): Promise<void>;
  /**
   * Stores a session's output: a new file, or new content of the one with the same `output_path`,
   * whose earlier content becomes loose.
   */
  putOutput(file: FileRecord): Promise<void>;
  /** The file's content becomes loose. */
  delete(workspaceId: string, id: string): Promise<void>;
  /** Every file that belongs to the session, as `delete`. */
  deleteOfSession(workspaceId: string, sessionId: string): Promise<void>;
  /**
   * Lets the content of up to `limit` files become loose that expired before `before` (RFC 3339), across
   * workspaces, and says of how many; the files stay, without it.
   */
  purgeExpired(before: string, limit: number): Promise<number>;
  /** Bytes of all contents that files of the workspace have, each counted once. */
  contentBytes(workspaceId: string): Promise<number>;
  /** True if a file, a skill's version or a session's recipe of the workspace has this content. */
  isReferenced(workspaceId: string, sha256: string): Promise<boolean>;
}

/** Content that lost a reference, or never had one. */
export interface LooseBlob {
  readonly workspaceId: string;
  /** Key in the blob store. */
  readonly sha256: string;
  /** When it became loose the last time; RFC 3339 with milliseconds. */
  readonly since: string;
}

/**
 * Notes of content that may have to go, made in the transaction that takes a reference away: what
 * waits survives the process. Whether anything refers to it is looked at later, because somebody
 * may just be storing the same content.
 */
export interface LooseBlobs {
  /** Notes content that was stored and will not be referred to; again is a later `since`. */
  add(workspaceId: string, sha256: string): Promise<void>;
  /** Those not noted since `before` (RFC 3339), the oldest first, across workspaces. */
  list(before: string, limit: number): Promise<readonly LooseBlob[]>;
  /** Takes the note away, unless it was made again. */
  remove(blob: LooseBlob): Promise<void>;
}

export interface ApiKeyRecord {
  readonly workspace_id: string;
  readonly id: string;
  readonly name: string;
  readonly role: KeyRole;
  /** Lowercase hex SHA-256 of the key; the key itself is stored nowhere. */
  readonly key_sha256: string;
  readonly created_at: string;
  readonly revoked_at: string | null;
}

export interface ApiKeys {
  /** Across workspaces: the key is what tells the workspace. Revoked ones are not found. */
  findBySha256(keySha256: string): Promise<ApiKeyRecord | undefined>;
  /** One page, revoked ones too. */
  listPage(workspaceId: string, page: PageRequest): Promise<readonly ApiKeyRecord[]>;
  /** All of them, revoked ones too, the oldest first. */
  list(workspaceId: string): Promise<readonly ApiKeyRecord[]>;
}

export interface ApiKeyWriter extends ApiKeys {
  insert(key: ApiKeyRecord): Promise<void>;
  revoke(workspaceId: string, id: string, revokedAt: string): Promise<void>;
}

/** The answer of a POST that took effect, so that its retry gets the same one. */
export interface AnsweredRequest {
  readonly workspace_id: string;
  /** Digest under the credential, of path and body or of path and `Idempotency-Key`. */
  readonly request_key: string;
  /** `X-Stainless-Retry-Count` of the attempt that took effect. */
  readonly attempt: number;
  readonly status: number;
  readonly body: string;
  readonly created_at: string;
}

export interface AnsweredRequests {
  /** The newest answer for the key that is not older than `since` (RFC 3339). */
  find(
    workspaceId: string,
    requestKey: string,
    since: string,
  ): Promise<AnsweredRequest | undefined>;
  put(request: AnsweredRequest): Promise<void>;
  /** Deletes up to `limit` answers older than `before` (RFC 3339). */
  prune(before: string, limit: number): Promise<void>;
}
