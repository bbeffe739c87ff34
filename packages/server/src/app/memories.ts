import { createHash } from "node:crypto";
import {
  idPrefixes,
  type Memory,
  type MemoryCreateParams,
  type MemoryDeleted,
  type MemoryDeleteQuery,
  type MemoryListItem,
  type MemoryListQuery,
  type MemoryUpdateParams,
  type MemoryView,
  type Page,
} from "@drover/api";
import {
  InvalidRequestError,
  MemoryPreconditionFailedError,
  NotFoundError,
} from "../core/errors.ts";
import { contentSize } from "../core/memory/content.ts";
import { MEMORIES_MAX } from "../core/memory/limits.ts";
import { assertPath } from "../core/memory/path.ts";
import type {
  MemoryRecord,
  MemoryStoreKey,
  MemoryStores as StoreReader,
  WholeMemory,
} from "../core/ports/memory-stores.ts";
import type { StoreTransaction } from "../core/ports/store.ts";
import { listMemories, memoryOf } from "./memories-list.ts";
import { getStore, getWritableStore, type MemoryStoresOptions } from "./memory-stores.ts";
import { actorOf, type NewId, type Principal } from "./principal.ts";

/**
 * Memories of a store. Whoever writes to an archived store, except to delete, gets an
 * `InvalidRequestError`; whose path is taken, a `MemoryPathConflictError`.
 */
export interface Memories {
  create(
    tx: StoreTransaction,
    principal: Principal,
    storeId: string,
    params: MemoryCreateParams & { readonly view: MemoryView },
  ): Promise<Memory>;
  retrieve(key: MemoryStoreKey, id: string, view: MemoryView): Promise<Memory>;
  /**
   * Changes content, path or both; no change is no version. Rejects with
   * `MemoryPreconditionFailedError` if the content is not what the precondition says, unless the
   * memory is already as it is wanted.
   */
  update(
    tx: StoreTransaction,
    principal: Principal,
    at: { readonly storeId: string; readonly id: string },
    params: MemoryUpdateParams & { readonly view: MemoryView },
  ): Promise<Memory>;
  /** By the bytes of their paths. */
  list(key: MemoryStoreKey, query: MemoryListQuery): Promise<Page<MemoryListItem>>;
  /** Its versions stay. Rejects as `update` for the expected hash. */
  delete(
    tx: StoreTransaction,
    principal: Principal,
    at: { readonly storeId: string; readonly id: string },
    query: MemoryDeleteQuery,
  ): Promise<MemoryDeleted>;
}

export function createMemories({ store, cursors, newId }: MemoryStoresOptions): Memories {
  return {
    create: (tx, principal, storeId, params) =>
      createMemory({ tx, principal, storeId, newId }, params),
    retrieve: async (key, id, view) => {
      await getStore(store.memoryStores, key);
      return memoryOf(await getMemory(store.memoryStores, key, id, view), view);
    },
    update: (tx, principal, { storeId, id }, params) =>
      updateMemory({ tx, principal, storeId, newId }, id, params),
    list: async (key, query) => {
      await getStore(store.memoryStores, key);
      return await listMemories({ memoryStores: store.memoryStores, cursors }, key, query);
    },
    delete: async (tx, principal, { storeId, id }, { expected_content_sha256: expected }) => {
      const key = { workspaceId: principal.workspaceId, storeId };
      await getStore(tx.memoryStores, key);
      const memory = await getMemory(tx.memoryStores, key, id, "basic");
      if (expected !== undefined && expected !== memory.content_sha256) {
        throw hashDiffers("expected_content_sha256");
      }
      const versionId = newId(idPrefixes.memoryVersion);
      await tx.memoryStores.deleteMemory(memory, versionId, actorOf(principal));
      return { id, type: "memory_deleted" };
    },
  };
}

interface Write {
  readonly tx: StoreTransaction;
  readonly principal: Principal;
  readonly storeId: string;
  readonly newId: NewId;
}

async function createMemory(
  { tx, principal, storeId, newId }: Write,
  params: MemoryCreateParams & { readonly view: MemoryView },
): Promise<Memory> {
  const key = { workspaceId: principal.workspaceId, storeId };
  assertPath(params.path, "path");
  const content = measured(params.content ?? "");
  await getWritableStore(tx.memoryStores, key);
  if ((await tx.memoryStores.countMemories(key)) >= MEMORIES_MAX) {
    throw new InvalidRequestError(
      `memory store ${storeId} has ${MEMORIES_MAX} memories, which is as many as it may have`,
    );
  }
  const memory: WholeMemory = {
    workspace_id: key.workspaceId,
    memory_store_id: storeId,
    id: newId(idPrefixes.memory),
    memory_version_id: newId(idPrefixes.memoryVersion),
    path: params.path,
    ...content,
    created_at: tx.now,
    updated_at: tx.now,
  };
  await tx.memoryStores.insertMemory(memory, actorOf(principal));
  return memoryOf(memory, params.view);
}

async function updateMemory(
  { tx, principal, storeId, newId }: Write,
  id: string,
  params: MemoryUpdateParams & { readonly view: MemoryView },
): Promise<Memory> {
  const key = { workspaceId: principal.workspaceId, storeId };
  const path = params.path ?? undefined;
  if (path !== undefined) assertPath(path, "path");
  const content = params.content == null ? undefined : measured(params.content);
  const expected = expectedHash(params);
  await getWritableStore(tx.memoryStores, key);
  const current = await getWhole(tx.memoryStores, key, id);
  const wanted = { ...current, ...content, ...(path !== undefined && { path }) };
  const isChanged =
    wanted.path !== current.path || wanted.content_sha256 !== current.content_sha256;
  const asksForNothing = path === undefined && content === undefined;
  if (expected !== undefined && expected !== current.content_sha256) {
    if (isChanged || asksForNothing) throw hashDiffers("precondition.content_sha256");
  }
  if (!isChanged) return memoryOf(current, params.view);
  const memory_version_id = newId(idPrefixes.memoryVersion);
  const next: WholeMemory = { ...wanted, memory_version_id, updated_at: tx.now };
  await tx.memoryStores.updateMemory(next, actorOf(principal));
  return memoryOf(next, params.view);
}

/** A precondition without its hash would be none, though somebody relies on it. */
function expectedHash({ precondition }: MemoryUpdateParams): string | undefined {
  if (precondition == null) return undefined;
  if (precondition.content_sha256 === undefined) {
    throw new InvalidRequestError("precondition.content_sha256: is required");
  }
  return precondition.content_sha256;
}

function measured(content: string) {
  return {
    content,
    content_size_bytes: contentSize(content),
    content_sha256: createHash("sha256").update(content).digest("hex"),
  };
}

function hashDiffers(field: string): MemoryPreconditionFailedError {
  return new MemoryPreconditionFailedError(
    `${field}: the memory's content has another hash; retrieve it and try again`,
  );
}

async function getMemory(
  memoryStores: StoreReader,
  key: MemoryStoreKey,
  id: string,
  view: MemoryView,
): Promise<MemoryRecord> {
  const record = await memoryStores.findMemory(key, id, view);
  if (record === undefined) throw new NotFoundError(`there is no memory ${id} in ${key.storeId}`);
  return record;
}

async function getWhole(
  memoryStores: StoreReader,
  key: MemoryStoreKey,
  id: string,
): Promise<WholeMemory> {
  const { content, ...record } = await getMemory(memoryStores, key, id, "full");
  if (content === null) throw new Error(`memory ${id} has no content`);
  return { ...record, content };
}
