import { isDeepStrictEqual } from "node:util";
import {
  idPrefixes,
  type Page,
  type Vault,
  type VaultCreateParams,
  type VaultDeleted,
  type VaultListQuery,
  type VaultUpdateParams,
} from "@drover/api";
import { InvalidRequestError, NotFoundError } from "../core/errors.ts";
import { patchedMetadata } from "../core/metadata.ts";
import type { Store, StoreTransaction } from "../core/ports/store.ts";
import type { Vaults as VaultReader, VaultRecord } from "../core/ports/vaults.ts";
import { type Cursors, readPage } from "./pagination.ts";
import type { NewId, Principal } from "./principal.ts";

export interface Vaults {
  create(tx: StoreTransaction, principal: Principal, params: VaultCreateParams): Promise<Vault>;
  retrieve(workspaceId: string, id: string): Promise<Vault>;
  /** Rejects with `InvalidRequestError` for an archived one. */
  update(
    tx: StoreTransaction,
    principal: Principal,
    id: string,
    params: VaultUpdateParams,
  ): Promise<Vault>;
  /** Newest first. */
  list(workspaceId: string, query: VaultListQuery): Promise<Page<Vault>>;
  /** For good, with its credentials, whose secrets are gone; again is no error. */
  archive(tx: StoreTransaction, principal: Principal, id: string): Promise<Vault>;
  /** With its credentials. */
  delete(tx: StoreTransaction, principal: Principal, id: string): Promise<VaultDeleted>;
}

interface VaultsOptions {
  readonly store: Store;
  readonly cursors: Cursors;
  readonly newId: NewId;
}

export function createVaults({ store, cursors, newId }: VaultsOptions): Vaults {
  return {
    create: async (tx, { workspaceId }, { display_name, metadata = {} }) => {
      const record: VaultRecord = {
        workspace_id: workspaceId,
        id: newId(idPrefixes.vault),
        display_name,
        metadata,
        created_at: tx.now,
        updated_at: tx.now,
        archived_at: null,
      };
      await tx.vaults.insert(record);
      return vaultOf(record);
    },
    retrieve: async (workspaceId, id) => vaultOf(await getVault(store.vaults, workspaceId, id)),
    update: updateVault,
    list: async (workspaceId, query) => {
      const filter = { includeArchived: query.include_archived ?? false };
      const { data, next_page } = await readPage({
        cursors,
        scope: { workspaceId, list: "vaults", order: "desc" },
        query,
        read: (page) => store.vaults.list(workspaceId, filter, page),
        present: vaultOf,
      });
      return { data, next_page };
    },
    archive: async (tx, { workspaceId }, id) => {
      const record = await getVault(tx.vaults, workspaceId, id);
      if (record.archived_at !== null) return vaultOf(record);
      await tx.vaults.archive(workspaceId, id, tx.now);
      return vaultOf({ ...record, archived_at: tx.now });
    },
    delete: async (tx, { workspaceId }, id) => {
      await getVault(tx.vaults, workspaceId, id);
      await tx.vaults.delete(workspaceId, id);
      return { id, type: "vault_deleted" };
    },
  };
}

async function updateVault(
  tx: StoreTransaction,
  { workspaceId }: Principal,
  id: string,
  params: VaultUpdateParams,
): Promise<Vault> {
  const record = await getVault(tx.vaults, workspaceId, id);
  assertVaultActive(record);
  const display_name = params.display_name ?? record.display_name;
  const metadata = patchedMetadata(record.metadata, params.metadata, { emptyDeletes: false });
  const next = { ...record, display_name, metadata };
  if (isDeepStrictEqual(next, record)) return vaultOf(record);
  const updated = { ...next, updated_at: tx.now };
  await tx.vaults.update(updated);
  return vaultOf(updated);
}

export async function getVault(
  vaults: VaultReader,
  workspaceId: string,
  id: string,
): Promise<VaultRecord> {
  const record = await vaults.find(workspaceId, id);
  if (record === undefined) throw new NotFoundError(`there is no vault ${id}`);
  return record;
}

export function assertVaultActive({ id, archived_at }: VaultRecord): void {
  if (archived_at === null) return;
  throw new InvalidRequestError(`vault ${id} is archived and cannot be changed`);
}

function vaultOf({ workspace_id: _, id, ...record }: VaultRecord): Vault {
  return { id, type: "vault", ...record, metadata: { ...record.metadata } };
}
