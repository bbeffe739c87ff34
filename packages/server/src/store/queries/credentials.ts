import { ConflictError } from "../../core/errors.ts";
import type { CredentialRecord, Credentials, CredentialWriter } from "../../core/ports/vaults.ts";
import { fromJson, toJson } from "../json-column.ts";
import { allOf, type SqlRunner, type SqlTransaction, sql } from "../sql.ts";
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
    findSealed: async (workspaceId, vaultId, id) => {
      const row = await db.get<{ secrets_sealed: string | null }>(sql`
        select secrets_sealed from vault_credentials
        where workspace_id = ${workspaceId} and id = ${id} and vault_id = ${vaultId}`);
      return row?.secrets_sealed ?? undefined;
    },
    countActive: async (workspaceId, vaultId) => {
      const row = await db.get<{ found: number }>(sql`
        select count(*) as found from vault_credentials
        where workspace_id = ${workspaceId} and vault_id = ${vaultId} and archived_at is null`);
      return Number(row?.found ?? 0);
    },
    insert: (credential, sealed) => insertCredential(tx, credential, sealed),
    update: async (credential, sealed) => {
      const { workspace_id, id, display_name, metadata, auth, updated_at } = credential;
      await db.all(sql`
        update vault_credentials set
          display_name = ${display_name}, metadata = ${toJson(metadata)}, auth = ${toJson(auth)},
          updated_at = ${updated_at},
          secrets_sealed = coalesce(${sealed ?? null}, secrets_sealed)
        where workspace_id = ${workspace_id} and id = ${id}`);
    },
    archive: async (workspaceId, id, archivedAt) => {
      await db.all(sql`
        update vault_credentials set archived_at = ${archivedAt}, secrets_sealed = null
        where workspace_id = ${workspaceId} and id = ${id}`);
    },
    delete: async (workspaceId, id) => {
      await db.all(sql`
        delete from vault_credentials where workspace_id = ${workspaceId} and id = ${id}`);
    },
  };
}

async function insertCredential(
  tx: SqlTransaction,
  credential: CredentialRecord,
  sealed: string,
): Promise<void> {
  const { workspace_id, id, vault_id, auth_key, display_name, metadata, auth } = credential;
  const { created_at, updated_at, archived_at } = credential;
  const stored = await tx.db.get(sql`
    insert into vault_credentials (${COLUMNS}, secrets_sealed) values (
      ${workspace_id}, ${id}, ${vault_id}, ${auth_key}, ${display_name}, ${toJson(metadata)},
      ${toJson(auth)}, ${created_at}, ${updated_at}, ${archived_at}, ${sealed})
    on conflict (workspace_id, vault_id, auth_key) where archived_at is null do nothing
    returning id`);
  if (stored !== undefined) return;
  const [field = "", value] = auth_key.split(" ");
  throw new ConflictError(
    `auth.${field}: vault ${vault_id} has an active credential for ${value} already`,
  );
}

function decode(row: Row): CredentialRecord {
  return { ...row, metadata: fromJson(row.metadata), auth: fromJson(row.auth) };
}
