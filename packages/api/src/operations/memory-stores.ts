import {
  Memory,
  MemoryCreateParams,
  MemoryDeleted,
  MemoryDeleteQuery,
  MemoryListItem,
  MemoryListQuery,
  MemoryUpdateParams,
  MemoryViewQuery,
} from "../memories.ts";
import {
  MemoryStore,
  MemoryStoreCreateParams,
  MemoryStoreDeleted,
  MemoryStoreListQuery,
  MemoryStoreUpdateParams,
} from "../memory-stores.ts";
import { MemoryVersion, MemoryVersionListQuery } from "../memory-versions.ts";
import { type Operation, object, page } from "../operation.ts";

const STORES = "/v1/memory_stores";
const STORE = `${STORES}/{memory_store_id}`;
const MEMORIES = `${STORE}/memories`;
const MEMORY = `${MEMORIES}/{memory_id}`;
const VERSIONS = `${STORE}/memory_versions`;
const VERSION = `${VERSIONS}/{memory_version_id}`;

const storeOperations: readonly Operation[] = [
  {
    id: "memoryStores.create",
    method: "POST",
    path: STORES,
    body: MemoryStoreCreateParams,
    answer: object(MemoryStore),
  },
  {
    id: "memoryStores.list",
    method: "GET",
    path: STORES,
    query: MemoryStoreListQuery,
    answer: page(MemoryStore),
  },
  { id: "memoryStores.retrieve", method: "GET", path: STORE, answer: object(MemoryStore) },
  {
    id: "memoryStores.update",
    method: "POST",
    path: STORE,
    body: MemoryStoreUpdateParams,
    answer: object(MemoryStore),
  },
  { id: "memoryStores.delete", method: "DELETE", path: STORE, answer: object(MemoryStoreDeleted) },
  {
    id: "memoryStores.archive",
    method: "POST",
    path: `${STORE}/archive`,
    answer: object(MemoryStore),
  },
];

/** The official client posts an update; the hosted service's documents show PATCH. */
const update = {
  path: MEMORY,
  query: MemoryViewQuery,
  body: MemoryUpdateParams,
  answer: object(Memory),
};

export const memoryStoreOperations: readonly Operation[] = [
  ...storeOperations,
  {
    id: "memoryStores.memories.create",
    method: "POST",
    path: MEMORIES,
    query: MemoryViewQuery,
    body: MemoryCreateParams,
    answer: object(Memory),
  },
  {
    id: "memoryStores.memories.list",
    method: "GET",
    path: MEMORIES,
    query: MemoryListQuery,
    answer: page(MemoryListItem),
  },
  {
    id: "memoryStores.memories.retrieve",
    method: "GET",
    path: MEMORY,
    query: MemoryViewQuery,
    answer: object(Memory),
  },
  { id: "memoryStores.memories.update", method: "POST", ...update },
  { id: "memoryStores.memories.patch", method: "PATCH", ...update },
  {
    id: "memoryStores.memories.delete",
    method: "DELETE",
    path: MEMORY,
    query: MemoryDeleteQuery,
    answer: object(MemoryDeleted),
  },
  {
    id: "memoryStores.memoryVersions.list",
    method: "GET",
    path: VERSIONS,
    query: MemoryVersionListQuery,
    answer: page(MemoryVersion),
  },
  {
    id: "memoryStores.memoryVersions.retrieve",
    method: "GET",
    path: VERSION,
    query: MemoryViewQuery,
    answer: object(MemoryVersion),
  },
  {
    id: "memoryStores.memoryVersions.redact",
    method: "POST",
    path: `${VERSION}/redact`,
    answer: object(MemoryVersion),
  },
];
