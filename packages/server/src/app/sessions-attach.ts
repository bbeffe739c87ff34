import type {
  GithubRepositoryResource,
  GithubRepositoryResourceParams,
  MemoryStoreResource,
  MemoryStoreResourceParams,
  SessionResource,
  SessionResourceParams,
} from "@drover/api";
import { InvalidRequestError, NotFoundError, unreachable } from "../core/errors.ts";
import { MEMORY_STORES_MAX } from "../core/memory/limits.ts";
import { mountPathOf } from "../core/memory/mount-path.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { FileMount } from "../core/ports/hands.ts";
import type { StoreTransaction } from "../core/ports/store.ts";
import { assertDistinctPaths, repositoryPath } from "../core/sessions/mount-paths.ts";
import { assertBranch, repositoryName } from "../core/sessions/repository.ts";
import { newId } from "../lib/new-id.ts";
import { mountFile } from "./sessions-mounts.ts";

export interface Attachments {
  readonly resources: readonly SessionResource[];
  /** Of the files among them. */
  readonly mounts: readonly FileMount[];
  /** Of the repositories that came with one, by the resource's id. */
  readonly tokens: ReadonlyMap<string, string>;
}

interface Attached {
  readonly resource: SessionResource;
  readonly mount?: FileMount;
  readonly token?: string | undefined;
}

interface AttachRequest {
  readonly params: SessionResourceParams;
  /** Not used for a memory store, which has none. */
  readonly resourceId: string;
  /** Stands before the names of fields in errors. */
  readonly place: string;
}

/** Everything that a new session is made with, or an error that names the first that cannot be had. */
export async function attachAll(
  tx: StoreTransaction,
  key: SessionKey,
  params: readonly SessionResourceParams[],
): Promise<Attachments> {
  assertMemoryStores(params);
  // Ascending, so that a list by id shows them in the order of the request.
  const ids = params.map(() => newId("sesrsc")).toSorted();
  const all: Attached[] = [];
  for (const [index, each] of params.entries()) {
    const place = `resources.${index}.`;
    all.push(await attach(tx, key, { params: each, resourceId: ids[index] ?? "", place }));
  }
  const resources = all.map(({ resource }) => resource);
  const paths = resources.map(({ mount_path }) => mount_path ?? "");
  assertDistinctPaths(paths, "resources");
  return {
    resources,
    mounts: all.flatMap(({ mount }) => mount ?? []),
    tokens: new Map(
      all.flatMap(({ token }, index) => (token === undefined ? [] : [[ids[index] ?? "", token]])),
    ),
  };
}

async function attach(
  tx: StoreTransaction,
  key: SessionKey,
  { params, resourceId, place }: AttachRequest,
): Promise<Attached> {
  switch (params.type) {
    case "file":
      return await mountFile(tx, key, { params, resourceId, place });
    case "github_repository":
      return {
        resource: repositoryOf(params, { resourceId, place, now: tx.now }),
        token: params.authorization_token,
      };
    case "memory_store":
      return { resource: await memoryStoreOf(tx, key.workspaceId, { params, place }) };
    default:
      return unreachable(params);
  }
}

/** Rejects vaults that are not there, are archived or come twice. */
export async function assertVaults(
  tx: StoreTransaction,
  workspaceId: string,
  vaultIds: readonly string[],
): Promise<void> {
  for (const [index, id] of vaultIds.entries()) {
    const place = `vault_ids.${index}`;
    if (vaultIds.indexOf(id) !== index) {
      throw new InvalidRequestError(`${place}: vault ${id} is named twice`);
    }
    const vault = await tx.vaults.find(workspaceId, id);
    if (vault === undefined) {
      throw new NotFoundError(`${place}: there is no vault ${id}`, { code: "vault_not_found" });
    }
    if (vault.archived_at !== null) {
      throw new InvalidRequestError(`${place}: vault ${id} is archived`, {
        code: "vault_archived",
      });
    }
  }
}

function repositoryOf(
  params: GithubRepositoryResourceParams,
  { resourceId, place, now }: { resourceId: string; place: string; now: string },
): GithubRepositoryResource {
  const { url, checkout } = params;
  const name = repositoryName(url, `${place}url`);
  if (checkout?.type === "branch") assertBranch(checkout.name, `${place}checkout.name`);
  return {
    type: "github_repository",
    id: resourceId,
    url,
    mount_path: repositoryPath(params.mount_path ?? name, `${place}mount_path`),
    checkout: checkout ?? null,
    created_at: now,
    updated_at: now,
  };
}

/** Name and description as they are now: later edits do not reach the session. */
async function memoryStoreOf(
  tx: StoreTransaction,
  workspaceId: string,
  { params, place }: { params: MemoryStoreResourceParams; place: string },
): Promise<MemoryStoreResource> {
  const { memory_store_id: id, access, instructions } = params;
  const store = await tx.memoryStores.find(workspaceId, id);
  if (store === undefined) {
    throw new NotFoundError(`${place}memory_store_id: there is no memory store ${id}`, {
      code: "memory_store_not_found",
    });
  }
  if (store.archived_at !== null) {
    throw new InvalidRequestError(`${place}memory_store_id: memory store ${id} is archived`, {
      code: "memory_store_archived",
    });
  }
  return {
    type: "memory_store",
    memory_store_id: id,
    access: access ?? "read_write",
    instructions: instructions ?? null,
    name: store.name,
    description: store.description,
    mount_path: mountPathOf(store.name),
  };
}

function assertMemoryStores(params: readonly SessionResourceParams[]): void {
  const ids = params.flatMap((each) =>
    each.type === "memory_store" ? [each.memory_store_id] : [],
  );
  if (ids.length > MEMORY_STORES_MAX) {
    throw new InvalidRequestError(
      `resources: ${ids.length} memory stores, at most ${MEMORY_STORES_MAX} in a session`,
    );
  }
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined) {
    throw new InvalidRequestError(`resources: memory store ${twice} is attached twice`);
  }
}
