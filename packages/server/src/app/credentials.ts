import { isDeepStrictEqual } from "node:util";
import {
  type Credential,
  CredentialAuth,
  type CredentialCreateParams,
  type CredentialDeleted,
  type CredentialListQuery,
  type CredentialUpdateParams,
  idPrefixes,
  type Page,
} from "@drover/api";
import { InvalidRequestError, NotFoundError } from "../core/errors.ts";
import { patchedMetadata } from "../core/metadata.ts";
import type { SecretBox } from "../core/ports/secret-box.ts";
import type { Store, StoreTransaction } from "../core/ports/store.ts";
import type { Credentials as CredentialReader, CredentialRecord } from "../core/ports/vaults.ts";
import { keyOfAuth, newCredential, updatedCredential } from "../core/vaults/credential.ts";
import type { CredentialSecrets } from "../core/vaults/credential-parts.ts";
import { externalReference, type SecretManager } from "../core/vaults/external-reference.ts";
import { sealedSecrets } from "./credential-secrets.ts";
import { type Cursors, readPage } from "./pagination.ts";
import type { NewId, Principal } from "./principal.ts";
import { assertVaultActive, getVault } from "./vaults.ts";

/** Credentials of a vault that are not archived. */
const ACTIVE_MAX = 20;

/** The place of a credential, as its path has it. */
export interface CredentialPlace {
  readonly vaultId: string;
  readonly id: string;
}

/** No answer holds a secret. All reject with `NotFoundError` where the vault is not there. */
export interface Credentials {
  /** Rejects with `ConflictError` if an active one of the vault is for the same server or variable. */
  create(
    tx: StoreTransaction,
    principal: Principal,
    vaultId: string,
    params: CredentialCreateParams,
  ): Promise<Credential>;
  retrieve(workspaceId: string, place: CredentialPlace): Promise<Credential>;
  /** Rejects with `InvalidRequestError` for an archived one. */
  update(
    tx: StoreTransaction,
    principal: Principal,
    place: CredentialPlace,
    params: CredentialUpdateParams,
  ): Promise<Credential>;
  /** Newest first. */
  list(workspaceId: string, vaultId: string, query: CredentialListQuery): Promise<Page<Credential>>;
  /** For good, and its secrets are gone; again is no error. */
  archive(tx: StoreTransaction, principal: Principal, place: CredentialPlace): Promise<Credential>;
  delete(
    tx: StoreTransaction,
    principal: Principal,
    place: CredentialPlace,
  ): Promise<CredentialDeleted>;
}

interface CredentialsOptions {
  readonly store: Store;
  readonly secretBox: Pick<SecretBox, "seal">;
  /** The managers of secrets that this server's hands have. */
  readonly secretManagers?: readonly SecretManager[] | undefined;
  readonly cursors: Cursors;
  readonly newId: NewId;
}

export function createCredentials(options: CredentialsOptions): Credentials {
  const { store, cursors } = options;
  return {
    create: (...args) => createCredential(options, ...args),
    retrieve: async (workspaceId, place) =>
      credentialOf(await getCredential(store.credentials, workspaceId, place)),
    update: (...args) => updateCredential(options, ...args),
    list: async (workspaceId, vaultId, query) => {
      await getVault(store.vaults, workspaceId, vaultId);
      const filter = { includeArchived: query.include_archived ?? false };
      const { data, next_page } = await readPage({
        cursors,
        scope: { workspaceId, list: `${vaultId}/credentials`, order: "desc" },
        query,
        read: (page) => store.credentials.list(workspaceId, vaultId, filter, page),
        present: credentialOf,
      });
      return { data, next_page };
    },
    archive: async (tx, { workspaceId }, place) => {
      const record = await getCredential(tx.credentials, workspaceId, place);
      if (record.archived_at !== null) return credentialOf(record);
      await tx.credentials.archive(workspaceId, place.id, tx.now);
      return credentialOf({ ...record, archived_at: tx.now });
    },
    delete: async (tx, { workspaceId }, place) => {
      await getCredential(tx.credentials, workspaceId, place);
      await tx.credentials.delete(workspaceId, place.id);
      return { id: place.id, type: "vault_credential_deleted" };
    },
  };
}

async function createCredential(
  { secretBox, secretManagers = [], newId }: CredentialsOptions,
  tx: StoreTransaction,
  { workspaceId }: Principal,
  vaultId: string,
  params: CredentialCreateParams,
): Promise<Credential> {
  assertVaultActive(await getVault(tx.vaults, workspaceId, vaultId));
  if ((await tx.credentials.countActive(workspaceId, vaultId)) >= ACTIVE_MAX) {
    throw new InvalidRequestError(
      `vault ${vaultId} has ${ACTIVE_MAX} credentials, which is the most: archive or delete one`,
    );
  }
  const { auth, secrets } = newCredential(params.auth, tx.now);
  assertReferences(secrets, secretManagers);
  const record: CredentialRecord = {
    workspace_id: workspaceId,
    id: newId(idPrefixes.credential),
    vault_id: vaultId,
    auth_key: keyOfAuth(auth),
    display_name: params.display_name ?? null,
    metadata: params.metadata ?? {},
    auth,
    created_at: tx.now,
    updated_at: tx.now,
    archived_at: null,
  };
  await tx.credentials.insert(record, sealedSecrets(secretBox, record, secrets));
  return credentialOf(record);
}

async function updateCredential(
  { secretBox, secretManagers = [] }: CredentialsOptions,
  tx: StoreTransaction,
  { workspaceId }: Principal,
  place: CredentialPlace,
  params: CredentialUpdateParams,
): Promise<Credential> {
  const record = await getCredential(tx.credentials, workspaceId, place);
  if (record.archived_at !== null) {
    throw new InvalidRequestError(`credential ${place.id} is archived and cannot be changed`);
  }
  const current = CredentialAuth.parse(record.auth);
  const { auth, secrets } =
    params.auth === undefined
      ? { auth: current, secrets: {} }
      : updatedCredential(current, params.auth, tx.now);
  assertReferences(secrets, secretManagers);
  const display_name = params.display_name ?? record.display_name;
  const metadata = patchedMetadata(record.metadata, params.metadata, { emptyDeletes: false });
  const next = { ...record, display_name, metadata, auth };
  const hasNewSecrets = Object.keys(secrets).length > 0;
  if (!hasNewSecrets && isDeepStrictEqual(next, record)) return credentialOf(record);
  const updated = { ...next, updated_at: tx.now };
  await tx.credentials.update(updated, sealedSecrets(secretBox, record, secrets));
  if (isNewAuthorization(secrets)) {
    // What was refused is another by now, and an exchange of the old one is nobody's any more.
    await tx.credentials.putRefresh(workspaceId, place.id, { claim: null, refused_at: null });
  }
  return credentialOf(updated);
}

/** Rejects a reference that no hands could follow: it is never to be sent as if it was the secret. */
function assertReferences(secrets: CredentialSecrets, managers: readonly SecretManager[]): void {
  for (const [field, value] of Object.entries(secrets)) {
    const reference = externalReference(value);
    if (reference === undefined) continue;
    if (typeof reference === "string") throw new InvalidRequestError(`auth.${field}: ${reference}`);
    if (field !== "token" && field !== "secret_value") {
      throw new InvalidRequestError(
        `auth.${field}: must be the secret itself, since it changes with each refresh`,
      );
    }
    if (!managers.includes(reference.manager)) {
      throw new InvalidRequestError(
        `auth.${field}: this server has no manager of secrets called ${reference.manager}`,
      );
    }
  }
}

function isNewAuthorization(secrets: CredentialSecrets): boolean {
  return secrets["refresh_token"] !== undefined || secrets["client_secret"] !== undefined;
}

async function getCredential(
  credentials: CredentialReader,
  workspaceId: string,
  { vaultId, id }: CredentialPlace,
): Promise<CredentialRecord> {
  const record = await credentials.find(workspaceId, vaultId, id);
  if (record === undefined) throw new NotFoundError(`there is no credential ${id} in ${vaultId}`);
  return record;
}

function credentialOf(record: CredentialRecord): Credential {
  const { id, vault_id, display_name, metadata, created_at, updated_at, archived_at } = record;
  return {
    id,
    type: "vault_credential",
    vault_id,
    display_name,
    metadata: { ...metadata },
    auth: CredentialAuth.parse(record.auth),
    created_at,
    updated_at,
    archived_at,
  };
}
