import { isDeepStrictEqual } from "node:util";
import {
  type Environment,
  type EnvironmentCreateParams,
  EnvironmentDefinition,
  type EnvironmentDeleted,
  type EnvironmentListQuery,
  type EnvironmentUpdateParams,
  idPrefixes,
  type Page,
} from "@drover/api";
import { newEnvironment, updatedEnvironment } from "../core/environments/definition.ts";
import { InvalidRequestError, NotFoundError } from "../core/errors.ts";
import type {
  Environments as EnvironmentReader,
  EnvironmentRecord,
} from "../core/ports/records.ts";
import type { Store, StoreTransaction } from "../core/ports/store.ts";
import { chosenProvider, type ServerProviders } from "../core/sandboxes/chosen-provider.ts";
import { type Cursors, readPage } from "./pagination.ts";
import type { NewId, Principal } from "./principal.ts";

export interface Environments {
  /** Rejects with `ConflictError` if an unarchived environment has the name. */
  create(
    tx: StoreTransaction,
    principal: Principal,
    params: EnvironmentCreateParams,
  ): Promise<Environment>;
  retrieve(workspaceId: string, id: string): Promise<Environment>;
  update(
    tx: StoreTransaction,
    principal: Principal,
    id: string,
    params: EnvironmentUpdateParams,
  ): Promise<Environment>;
  /** Newest first. */
  list(workspaceId: string, query: EnvironmentListQuery): Promise<Page<Environment>>;
  /** For good; again is no error. */
  archive(tx: StoreTransaction, principal: Principal, id: string): Promise<Environment>;
  /** Rejects with `InvalidRequestError` while there are sessions that were made in it. */
  delete(tx: StoreTransaction, principal: Principal, id: string): Promise<EnvironmentDeleted>;
}

interface EnvironmentsOptions {
  readonly store: Store;
  readonly cursors: Cursors;
  readonly newId: NewId;
  /** See `AppDeps`. */
  readonly providers?: ServerProviders | undefined;
}

export function createEnvironments({
  store,
  cursors,
  newId,
  providers,
}: EnvironmentsOptions): Environments {
  return {
    create: async (tx, { workspaceId }, params) => {
      chosenProvider(params.metadata ?? {}, providers);
      const record: EnvironmentRecord = {
        workspace_id: workspaceId,
        id: newId(idPrefixes.environment),
        name: params.name,
        created_at: tx.now,
        updated_at: tx.now,
        archived_at: null,
        body: newEnvironment(params),
      };
      await tx.environments.insert(record);
      return environmentOf(record);
    },
    retrieve: async (workspaceId, id) =>
      environmentOf(await getEnvironment(store.environments, workspaceId, id)),
    update: (tx, principal, id, params) => {
      return updateEnvironment(tx, principal, id, { params, providers });
    },
    list: async (workspaceId, query) => {
      const { data, next_page } = await readPage({
        cursors,
        scope: { workspaceId, list: "environments", order: "desc" },
        query,
        read: (page) =>
          store.environments.list(
            workspaceId,
            { includeArchived: query.include_archived ?? false },
            page,
          ),
        present: environmentOf,
      });
      return { data, next_page };
    },
    archive: async (tx, { workspaceId }, id) => {
      const record = await getEnvironment(tx.environments, workspaceId, id);
      if (record.archived_at !== null) return environmentOf(record);
      const archived = { ...record, archived_at: tx.now };
      await tx.environments.update(archived);
      return environmentOf(archived);
    },
    delete: async (tx, { workspaceId }, id) => {
      await getEnvironment(tx.environments, workspaceId, id);
      if (await tx.environments.isUsed(workspaceId, id)) {
        throw new InvalidRequestError(
          `environment ${id} has sessions: delete them first, or archive it`,
        );
      }
      await tx.environments.delete(workspaceId, id);
      return { id, type: "environment_deleted" };
    },
  };
}

/** The resource as the API shows it. */
export function environmentOf(record: EnvironmentRecord): Environment {
  const { id, name, created_at, updated_at, archived_at } = record;
  return {
    id,
    type: "environment",
    name,
    ...EnvironmentDefinition.parse(record.body),
    state: archived_at === null ? "active" : "archived",
    created_at,
    updated_at,
    archived_at,
  };
}

async function updateEnvironment(
  tx: StoreTransaction,
  { workspaceId }: Principal,
  id: string,
  {
    params,
    providers,
  }: { params: EnvironmentUpdateParams; providers: ServerProviders | undefined },
): Promise<Environment> {
  const record = await getEnvironment(tx.environments, workspaceId, id);
  if (record.archived_at !== null) {
    throw new InvalidRequestError(`environment ${id} is archived and cannot be changed`, {
      code: "environment_archived",
    });
  }
  const current = EnvironmentDefinition.parse(record.body);
  const updated = updatedEnvironment(current, params);
  // Only what is asked for now: a provider may have gone since an environment was made.
  if (params.metadata) chosenProvider(updated.metadata, providers);
  const name = params.name ?? record.name;
  if (name === record.name && isDeepStrictEqual(updated, current)) return environmentOf(record);
  const next: EnvironmentRecord = { ...record, name, updated_at: tx.now, body: updated };
  await tx.environments.update(next);
  return environmentOf(next);
}

async function getEnvironment(
  environments: EnvironmentReader,
  workspaceId: string,
  id: string,
): Promise<EnvironmentRecord> {
  const record = await environments.find(workspaceId, id);
  if (record === undefined) throw new NotFoundError(`there is no environment ${id}`);
  return record;
}
