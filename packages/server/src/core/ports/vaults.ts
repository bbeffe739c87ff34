import type { CredentialBinding } from "./session-credentials.ts";
import type { PageRequest } from "./sessions.ts";

export interface VaultRecord {
  readonly workspace_id: string;
  readonly id: string;
  readonly display_name: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly created_at: string;
  readonly updated_at: string;
  readonly archived_at: string | null;
}

export interface Vaults {
  find(workspaceId: string, id: string): Promise<VaultRecord | undefined>;
  list(
    workspaceId: string,
    filter: { includeArchived?: boolean },
    page: PageRequest,
  ): Promise<readonly VaultRecord[]>;
}

export interface VaultWriter extends Vaults {
  insert(vault: VaultRecord): Promise<void>;
  /** Stores `display_name`, `metadata` and `updated_at`. */
  update(vault: VaultRecord): Promise<void>;
  /** Archives it and every credential in it that is not archived, whose secrets are gone with that. */
  archive(workspaceId: string, id: string, archivedAt: string): Promise<void>;
  /** With every credential in it. */
  delete(workspaceId: string, id: string): Promise<void>;
}

/** A credential without its secrets, which are asked for by themselves. */
export interface CredentialRecord {
  readonly workspace_id: string;
  readonly id: string;
  readonly vault_id: string;
  /** What it is for: unique among those of a vault that are not archived. */
  readonly auth_key: string;
  readonly display_name: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** `auth` as the API answers it. */
  readonly auth: Readonly<Record<string, unknown>>;
  readonly created_at: string;
  readonly updated_at: string;
  readonly archived_at: string | null;
}

export interface Credentials {
  /** Undefined also for one of another vault. */
  find(workspaceId: string, vaultId: string, id: string): Promise<CredentialRecord | undefined>;
  list(
    workspaceId: string,
    vaultId: string,
    filter: { includeArchived?: boolean },
    page: PageRequest,
  ): Promise<readonly CredentialRecord[]>;
}

/** The secrets of a credential by their names on the wire, such as `access_token`, each as a `SecretBox` sealed it. */
export type SealedSecrets = Readonly<Record<string, string>>;

export interface StoredSecret {
  readonly sealed: string;
  /** Counts from 1; higher each time that the secret is replaced, and not when only its envelope is renewed. */
  readonly revision: number;
}

/** What is known of the exchange of a credential's refresh token. */
export interface RefreshState {
  /** Who exchanges it now; null for nobody. */
  readonly claim: RefreshClaim | null;
  /** When its endpoint refused it for good; null if it may be tried. */
  readonly refused_at: string | null;
}

export interface RefreshClaim {
  readonly id: string;
  /** RFC 3339: whoever has it is taken for dead then. */
  readonly until: string;
  /** Of each secret when the exchange began. */
  readonly revisions: Readonly<Record<string, number>>;
}

export interface CredentialWriter extends Credentials {
  /** Those that are not archived, of these vaults, in no order. */
  listActive(
    workspaceId: string,
    vaultIds: readonly string[],
  ): Promise<readonly CredentialRecord[]>;
  /** By name; none once it is archived. */
  findSecrets(workspaceId: string, id: string): Promise<Readonly<Record<string, StoredSecret>>>;
  /** How many of the vault are not archived. */
  countActive(workspaceId: string, vaultId: string): Promise<number>;
  /** Rejects with `ConflictError` if one of the vault that is not archived has the `auth_key`. */
  insert(credential: CredentialRecord, secrets: SealedSecrets): Promise<void>;
  /** Stores `display_name`, `metadata`, `auth` and `updated_at`, and those secrets that are given. */
  update(credential: CredentialRecord, secrets?: SealedSecrets): Promise<void>;
  /** By id, of those among these that are bound. */
  findBindings(
    workspaceId: string,
    ids: readonly string[],
  ): Promise<Readonly<Record<string, CredentialBinding>>>;
  /** Undefined for every request. */
  putBinding(
    workspaceId: string,
    id: string,
    binding: CredentialBinding | undefined,
  ): Promise<void>;
  findRefresh(workspaceId: string, id: string): Promise<RefreshState>;
  putRefresh(workspaceId: string, id: string, state: RefreshState): Promise<void>;
  /** Its secrets are gone with that, and its `auth_key` is free. */
  archive(workspaceId: string, id: string, archivedAt: string): Promise<void>;
  delete(workspaceId: string, id: string): Promise<void>;
}
