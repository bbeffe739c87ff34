import { ConflictError } from "../../core/errors.ts";
import type {
  CredentialRecord,
  Credentials,
  CredentialWriter,
  RefreshState,
  SealedSecrets,
  StoredSecret,
} from "../../core/ports/vaults.ts";
import { fromJson, toJson } from "../json-column.ts";
import { allOf, oneOf, type SqlRunner, type SqlTransaction, sql } from "../sql.ts";
import { afterPosition, pageEnd } from "./pages.ts";

type Row = Omit<CredentialRecord, "metadata" | "auth"> & { metadata: string; auth: string };

const COLUMNS = sql`
  workspace_id, id, vault_id, auth_key, display_name, metadata, auth, created_at, updated_at,
  archived_at`;

export function credentialReader(db: SqlRunner): Credentials {
  return {
    find: async (workspaceId, vaultId, id) => {
      const row = await db.get<Row>(sql`
        select ${COLUMNS} from vault_credentials
        where workspace_id = ${workspaceId} and id = ${id} and vault_id = ${vaultId}`);
      return row === undefined ? undefined : decode(row);
    },
    list: async (workspaceId, vaultId, { includeArchived }, page) => {
      const rows = await db.all<Row>(sql`
        select ${COLUMNS} from vault_credentials
        where workspace_id = ${workspaceId} and vault_id = ${vaultId} and ${allOf([
          includeArchived === true ? undefined : sql`archived_at is null`,
          afterPosition(page),
        ])}
        ${pageEnd(page)}`);
      return rows.map(decode);
    },
  };
}

export function credentialWriter(tx: SqlTransaction): CredentialWriter {
  const { db } = tx;
  return {
    ...credentialReader(db),
    listActive: async (workspaceId, vaultIds) => {
      if (vaultIds.length === 0) return [];
      const rows = await db.all<Row>(sql`
        select ${COLUMNS} from vault_credentials
        where workspace_id = ${workspaceId} and vault_id in ${oneOf(vaultIds)}
          and archived_at is null`);
      return rows.map(decode);
    },
    findSecrets: (workspaceId, id) => findSecrets(db, workspaceId, id),
    countActive: async (workspaceId, vaultId) => {
      const row = await db.get<{ found: number }>(sql`
        select count(*) as found from vault_credentials
        where workspace_id = ${workspaceId} and vault_id = ${vaultId} and archived_at is null`);
      return Number(row?.found ?? 0);
    },
    insert: (credential, secrets) => insertCredential(tx, credential, secrets),
    update: async (credential, secrets = {}) => {
      const { workspace_id, id, display_name, metadata, auth, updated_at } = credential;
      const row = await db.get(sql`
        update vault_credentials set
          display_name = ${display_name}, metadata = ${toJson(metadata)}, auth = ${toJson(auth)},
          updated_at = ${updated_at}
        where workspace_id = ${workspace_id} and id = ${id} returning id`);
      if (row !== undefined) await putSecrets(db, credential, secrets);
    },
    findBindings: async (workspaceId, ids) => {
      if (ids.length === 0) return {};
      const rows = await db.all<{ id: string; binding: string }>(sql`
        select id, binding from vault_credentials
        where workspace_id = ${workspaceId} and id in ${oneOf(ids)} and binding is not null`);
      return Object.fromEntries(rows.map(({ id, binding }) => [id, fromJson(binding)]));
    },
    putBinding: async (workspaceId, id, binding) => {
      await db.all(sql`
        update vault_credentials set binding = ${binding === undefined ? null : toJson(binding)}
        where workspace_id = ${workspaceId} and id = ${id}`);
    },
    findRefresh: async (workspaceId, id) => {
      const row = await db.get<{ refresh: string | null }>(sql`
        select refresh from vault_credentials where workspace_id = ${workspaceId} and id = ${id}`);
      const refresh = row?.refresh ?? null;
      return refresh === null ? { claim: null, refused_at: null } : fromJson<RefreshState>(refresh);
    },
    putRefresh: async (workspaceId, id, state) => {
      const isNothing = state.claim === null && state.refused_at === null;
      await db.all(sql`
        update vault_credentials set refresh = ${isNothing ? null : toJson(state)}
        where workspace_id = ${workspaceId} and id = ${id}`);
    },
    archive: async (workspaceId, id, archivedAt) => {
      await db.all(sql`
        update vault_credentials set archived_at = ${archivedAt}, refresh = null
        where workspace_id = ${workspaceId} and id = ${id}`);
      await deleteSecrets(db, workspaceId, id);
    },
    delete: async (workspaceId, id) => {
      await deleteSecrets(db, workspaceId, id);
      await db.all(sql`
        delete from vault_credentials where workspace_id = ${workspaceId} and id = ${id}`);
    },
  };
}

async function findSecrets(
  db: SqlRunner,
  workspaceId: string,
  id: string,
): Promise<Readonly<Record<string, StoredSecret>>> {
  const rows = await db.all<{ name: string; secret_sealed: string; revision: number }>(sql`
    select name, secret_sealed, revision from credential_secrets
    where workspace_id = ${workspaceId} and credential_id = ${id}`);
  const secrets = rows.map(
    ({ name, secret_sealed, revision }) =>
      [name, { sealed: secret_sealed, revision: Number(revision) }] as const,
  );
  return Object.fromEntries(secrets);
}

async function putSecrets(
  db: SqlRunner,
  { workspace_id, id }: CredentialRecord,
  secrets: SealedSecrets,
): Promise<void> {
  for (const [name, sealed] of Object.entries(secrets)) {
    await db.all(sql`
      insert into credential_secrets (workspace_id, credential_id, name, secret_sealed, revision)
      values (${workspace_id}, ${id}, ${name}, ${sealed}, 1)
      on conflict (workspace_id, credential_id, name) do update set
        secret_sealed = excluded.secret_sealed, revision = credential_secrets.revision + 1`);
  }
}

async function deleteSecrets(db: SqlRunner, workspaceId: string, id: string): Promise<void> {
  await db.all(sql`
    delete from credential_secrets where workspace_id = ${workspaceId} and credential_id = ${id}`);
}

/** To be called before the credentials themselves are gone. */
export async function deleteSecretsOf(
  db: SqlRunner,
  workspaceId: string,
  vaultId: string,
): Promise<void> {
  await db.all(sql`
    delete from credential_secrets
    where workspace_id = ${workspaceId} and credential_id in (
      select id from vault_credentials
      where workspace_id = ${workspaceId} and vault_id = ${vaultId})`);
}

async function insertCredential(
  tx: SqlTransaction,
  credential: CredentialRecord,
  secrets: SealedSecrets,
): Promise<void> {
  const { workspace_id, id, vault_id, auth_key, display_name, metadata, auth } = credential;
  const { created_at, updated_at, archived_at } = credential;
  const stored = await tx.db.get(sql`
    insert into vault_credentials (${COLUMNS}) values (
      ${workspace_id}, ${id}, ${vault_id}, ${auth_key}, ${display_name}, ${toJson(metadata)},
      ${toJson(auth)}, ${created_at}, ${updated_at}, ${archived_at})
    on conflict (workspace_id, vault_id, auth_key) where archived_at is null do nothing
    returning id`);
  if (stored !== undefined) return await putSecrets(tx.db, credential, secrets);
  const [field = "", value] = auth_key.split(" ");
  throw new ConflictError(
    `auth.${field}: vault ${vault_id} has an active credential for ${value} already`,
  );
}

function decode(row: Row): CredentialRecord {
  return { ...row, metadata: fromJson(row.metadata), auth: fromJson(row.auth) };
}
