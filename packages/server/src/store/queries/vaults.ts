import type { VaultRecord, Vaults, VaultWriter } from "../../core/ports/vaults.ts";
import { fromJson, toJson } from "../json-column.ts";
import { allOf, type SqlRunner, type SqlTransaction, sql } from "../sql.ts";
import { deleteSecretsOf } from "./credentials.ts";
import { afterPosition, pageEnd } from "./pages.ts";

type Row = Omit<VaultRecord, "metadata"> & { metadata: string };

const COLUMNS = sql`
  workspace_id, id, display_name, metadata, created_at, updated_at, archived_at`;

export function vaultReader(db: SqlRunner): Vaults {
  return {
    find: async (workspaceId, id) => {
      const row = await db.get<Row>(sql`
        select ${COLUMNS} from vaults where workspace_id = ${workspaceId} and id = ${id}`);
      return row === undefined ? undefined : decode(row);
    },
    list: async (workspaceId, { includeArchived }, page) => {
      const rows = await db.all<Row>(sql`
        select ${COLUMNS} from vaults
        where workspace_id = ${workspaceId} and ${allOf([
          includeArchived === true ? undefined : sql`archived_at is null`,
          afterPosition(page),
        ])}
        ${pageEnd(page)}`);
      return rows.map(decode);
    },
  };
}

export function vaultWriter({ db }: SqlTransaction): VaultWriter {
  return {
    ...vaultReader(db),
    insert: async ({ workspace_id, id, display_name, metadata, ...times }) => {
      const { created_at, updated_at, archived_at } = times;
      await db.all(sql`
        insert into vaults (${COLUMNS}) values (
          ${workspace_id}, ${id}, ${display_name}, ${toJson(metadata)}, ${created_at},
          ${updated_at}, ${archived_at})`);
    },
    update: async ({ workspace_id, id, display_name, metadata, updated_at }) => {
      await db.all(sql`
        update vaults set
          display_name = ${display_name}, metadata = ${toJson(metadata)}, updated_at = ${updated_at}
        where workspace_id = ${workspace_id} and id = ${id}`);
    },
    archive: async (workspaceId, id, archivedAt) => {
      await db.all(sql`
        update vaults set archived_at = ${archivedAt}
        where workspace_id = ${workspaceId} and id = ${id}`);
      await db.all(sql`
        update vault_credentials set archived_at = ${archivedAt}, refresh = null
        where workspace_id = ${workspaceId} and vault_id = ${id} and archived_at is null`);
      await deleteSecretsOf(db, workspaceId, id);
    },
    delete: async (workspaceId, id) => {
      await deleteSecretsOf(db, workspaceId, id);
      await db.all(sql`
        delete from vault_credentials where workspace_id = ${workspaceId} and vault_id = ${id}`);
      await db.all(sql`delete from vaults where workspace_id = ${workspaceId} and id = ${id}`);
    },
  };
}

function decode(row: Row): VaultRecord {
  return { ...row, metadata: fromJson(row.metadata) };
}
