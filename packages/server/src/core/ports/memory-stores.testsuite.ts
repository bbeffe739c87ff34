import type { Actor } from "@drover/api";
import { describe, expect, test } from "vitest";
import { MemoryPathConflictError } from "../errors.ts";
import type {
  MemoryRecord,
  MemoryStoreKey,
  MemoryStoreRecord,
  WholeMemory,
} from "./memory-stores.ts";
import { insertSession, type OpenStore, START, uniqueId } from "./store.testsuite.ts";
import type { Store } from "./store.ts";

const at = (ms: number): string => new Date(START + ms).toISOString();
const FIRST = { limit: 100, order: "asc" } as const;
const KEY: Actor = { type: "api_actor", api_key_id: "apikey_1" };
const NEWEST = { limit: 100, view: "basic" } as const;

/** The contract of `MemoryStores`, run by the test of every implementation. */
export function testMemoryStores(open: OpenStore): void {
  describe("MemoryStores", () => {
    testStores(open);
    testMemories(open);
    testPaths(open);
    testVersions(open);
    testCopies(open);
  });
}

function testStores(open: OpenStore): void {
  test("stores, changes and lists memory stores, each in its workspace", async () => {
    await using world = await open();
    const { store } = world;
    const first = newMemoryStore();
    const { workspace_id, id } = first;
    const second = newMemoryStore({ workspace_id, created_at: at(10) });
    await store.write((tx) => tx.memoryStores.insert(first));
    await store.write((tx) => tx.memoryStores.insert(second));
    expect(await store.memoryStores.find(workspace_id, id)).toEqual(first);
    expect(await store.memoryStores.find(uniqueId("wrkspc"), id)).toBeUndefined();
    const archived = {
      ...first,
      ...{ name: "n", description: "", metadata: {}, updated_at: at(5), archived_at: at(5) },
    };
    await store.write((tx) => tx.memoryStores.update(archived));
    expect(await store.memoryStores.list(workspace_id, {}, FIRST)).toEqual([second]);
    const all = { includeArchived: true };
    expect(await store.memoryStores.list(workspace_id, all, FIRST)).toEqual([archived, second]);
    const late = { ...all, createdAt: { gte: at(1), lte: at(10) } };
    expect(await store.memoryStores.list(workspace_id, late, FIRST)).toEqual([second]);
    expect(await store.memoryStores.list(uniqueId("wrkspc"), all, FIRST)).toEqual([]);
  });

  test("deletes a store with all that is in it, and nothing of another", async () => {
    await using world = await open();
    const { store } = world;
    const gone = await insertMemoryStore(store);
    const kept = await insertMemoryStore(store, { workspace_id: gone.workspaceId });
    const memory = newMemory(gone);
    const other = newMemory(kept);
    await store.write((tx) => tx.memoryStores.insertMemory(memory, KEY));
    await store.write((tx) => tx.memoryStores.insertMemory(other, KEY));
    await store.write((tx) => tx.memoryStores.delete(gone));
    const { memoryStores } = store;
    expect(await memoryStores.find(gone.workspaceId, gone.storeId)).toBeUndefined();
    expect(await memoryStores.findMemory(gone, memory.id, "full")).toBeUndefined();
    expect(await memoryStores.listVersions(gone, {}, NEWEST)).toEqual([]);
    expect(await memoryStores.findMemory(kept, other.id, "full")).toEqual(other);
    await store.write((tx) => tx.memoryStores.insert(newMemoryStore(recordKey(gone))));
    await store.write((tx) => tx.memoryStores.insertMemory(memory, KEY));
    expect(await memoryStores.listVersions(gone, {}, NEWEST)).toMatchObject([{ seq: 1 }]);
  });
}

function testCopies(open: OpenStore): void {
  test("a store's revision changes with every write of its memories, and with nothing else", async () => {
    await using world = await open();
    const { store } = world;
    const key = await insertMemoryStore(store);
    const other = await insertMemoryStore(store, { workspace_id: key.workspaceId });
    const revisions = async (workspaceId = key.workspaceId) =>
      new Map(
        (
          await store.memoryStores.findRevisions(workspaceId, [key.storeId, other.storeId, "none"])
        ).map(({ memory_store_id, revision }) => [memory_store_id, revision]),
      );
    expect(await revisions()).toEqual(new Map([key, other].map(({ storeId }) => [storeId, 0])));
    const memory = newMemory(key);
    await store.write((tx) => tx.memoryStores.insertMemory(memory, KEY));
    const locked = await store.write((tx) => tx.memoryStores.lock(key));
    expect(locked).toEqual(await store.memoryStores.find(key.workspaceId, key.storeId));
    expect((await revisions()).get(key.storeId)).toBe(1);
    await store.write((tx) => tx.memoryStores.deleteMemory(memory, uniqueId("memver"), KEY));
    expect(await revisions()).toEqual(new Map([...(await revisions()), [key.storeId, 2]]));
    expect((await revisions()).get(other.storeId)).toBe(0);
    expect(await revisions(uniqueId("wrkspc"))).toEqual(new Map());
    const nobody = { ...key, workspaceId: uniqueId("wrkspc") };
    expect(await store.write((tx) => tx.memoryStores.lock(nobody))).toBeUndefined();
  });

  test("keeps how far a session's copy is stored, until the session is deleted", async () => {
    await using world = await open();
    const { store } = world;
    const key = await insertSession(store);
    const find = () => store.memoryStores.findCopy(key);
    expect(await find()).toBeUndefined();
    const refused = [{ memory_store_id: "memstore_1", path: "/a b/é" }];
    for (const copy of [
      { copy_id: "copy_1", seq: 1, refused },
      { copy_id: "copy_2", seq: 1, refused: [] },
    ]) {
      await store.write((tx) => tx.memoryStores.putCopy(key, copy));
      expect(await find()).toEqual(copy);
    }
    const stranger = { ...key, workspaceId: uniqueId("wrkspc") };
    expect(await store.memoryStores.findCopy(stranger)).toBeUndefined();
    await store.write((tx) => tx.sessions.delete(key));
    await store.write((tx) => tx.memoryStores.putCopy(key, { copy_id: "late", seq: 1, refused }));
    expect(await find()).toBeUndefined();
  });
}

function testMemories(open: OpenStore): void {
  test("keeps a memory's content as it is, and gives it out on demand", async () => {
    await using world = await open();
    const { store } = world;
    const key = await insertMemoryStore(store);
    const content = "a\r\n\u0001\ufeff e\u0301 🎉 '\\";
    const memory = newMemory(key, { content });
    await store.write((tx) => tx.memoryStores.insertMemory(memory, KEY));
    const { memoryStores } = store;
    expect(await memoryStores.findMemory(key, memory.id, "full")).toEqual(memory);
    const basic = { ...memory, content: null };
    expect(await memoryStores.findMemory(key, memory.id, "basic")).toEqual(basic);
    expect(await memoryStores.listMemories(key, { limit: 9 })).toEqual([basic]);
    expect(await memoryStores.findMemories(key, ["mem_0", memory.id])).toEqual([memory]);
    expect(await memoryStores.findMemories(key, [])).toEqual([]);
    expect(await store.write((tx) => tx.memoryStores.countMemories(key))).toBe(1);
  });

  test("shows a memory neither in another workspace nor in another store", async () => {
    await using world = await open();
    const { store } = world;
    const key = await insertMemoryStore(store);
    const memory = newMemory(key);
    await store.write((tx) => tx.memoryStores.insertMemory(memory, KEY));
    const neighbour = await insertMemoryStore(store, { workspace_id: key.workspaceId });
    const strangers = [{ ...key, workspaceId: uniqueId("wrkspc") }, neighbour];
    for (const stranger of strangers) {
      const { memoryStores } = store;
      expect(await memoryStores.findMemory(stranger, memory.id, "full")).toBeUndefined();
      expect(await memoryStores.findMemories(stranger, [memory.id])).toEqual([]);
      expect(await memoryStores.listMemories(stranger, { limit: 9 })).toEqual([]);
      const versionId = memory.memory_version_id;
      expect(await memoryStores.findVersion(stranger, versionId, "full")).toBeUndefined();
      expect(await memoryStores.listVersions(stranger, {}, NEWEST)).toEqual([]);
      await store.write((tx) => tx.memoryStores.redactVersion(stranger, versionId, KEY));
      await store.write((tx) => tx.memoryStores.delete({ ...stranger, storeId: "memstore_0" }));
    }
    expect(await store.memoryStores.findMemory(key, memory.id, "full")).toEqual(memory);
  });

  test("lists memories by the bytes of their paths, within a folder and after a place", async () => {
    await using world = await open();
    const { store } = world;
    const key = await insertMemoryStore(store);
    const paths = [
      "/A",
      "/a-b/x",
      "/a.md",
      "/a/1",
      "/a/b/2",
      "/a/c",
      "/a0",
      "/é",
      "/\uffee",
      "/🎉",
    ];
    for (const path of paths.toReversed()) {
      await store.write((tx) => tx.memoryStores.insertMemory(newMemory(key, { path }), KEY));
    }
    const list = async (range: { folder?: string; after?: string; limit?: number }) => {
      const found = await store.memoryStores.listMemories(key, { limit: 100, ...range });
      return found.map(({ path }) => path);
    };
    expect(await list({})).toEqual(paths);
    expect(await list({ folder: "/" })).toEqual(paths);
    expect(await list({ folder: "/a/" })).toEqual(["/a/1", "/a/b/2", "/a/c"]);
    expect(await list({ folder: "/a/b/" })).toEqual(["/a/b/2"]);
    expect(await list({ folder: "/a/1/" })).toEqual([]);
    expect(await list({ after: "/a/1", limit: 2 })).toEqual(["/a/b/2", "/a/c"]);
    expect(await list({ after: "/a/b/" })).toEqual(paths.slice(5));
    expect(await list({ folder: "/a/", after: "/a/b/" })).toEqual(["/a/c"]);
    expect(await list({ after: "/a/" })).toEqual(paths.slice(6));
    expect(await list({ after: "/zz" })).toEqual(["/é", "/\uffee", "/🎉"]);
  });
}

function testPaths(open: OpenStore): void {
  test("refuses a path that is taken, leads through a memory, or is on the way to one", async () => {
    await using world = await open();
    const { store } = world;
    const key = await insertMemoryStore(store);
    const memory = newMemory(key, { path: "/a/b/c" });
    const other = newMemory(key, { path: "/z" });
    await store.write((tx) => tx.memoryStores.insertMemory(memory, KEY));
    await store.write((tx) => tx.memoryStores.insertMemory(other, KEY));
    for (const path of ["/a", "/a/b", "/a/b/c", "/a/b/c/d/e"]) {
      const conflict = { fields: { conflicting_memory_id: memory.id, conflicting_path: "/a/b/c" } };
      const insert = store.write((tx) =>
        tx.memoryStores.insertMemory(newMemory(key, { path }), KEY),
      );
      await expect(insert).rejects.toThrow(MemoryPathConflictError);
      await expect(insert).rejects.toMatchObject(conflict);
      const rename = newVersionOf(other, { path });
      const update = store.write((tx) => tx.memoryStores.updateMemory(rename, KEY));
      await expect(update).rejects.toMatchObject(conflict);
    }
    for (const path of ["/a/b/cc", "/a/b/C", "/a/bc", "/a-b", "/a.md", "/a0"]) {
      await store.write((tx) => tx.memoryStores.insertMemory(newMemory(key, { path }), KEY));
    }
    expect(await store.memoryStores.listVersions(key, {}, NEWEST)).toHaveLength(8);
    const elsewhere = await insertMemoryStore(store, { workspace_id: key.workspaceId });
    const same = newMemory(elsewhere, { path: "/a/b/c" });
    await store.write((tx) => tx.memoryStores.insertMemory(same, KEY));
  });

  test("lets a memory move above or below its own place", async () => {
    await using world = await open();
    const { store } = world;
    const key = await insertMemoryStore(store);
    const first = newMemory(key, { path: "/a" });
    await store.write((tx) => tx.memoryStores.insertMemory(first, KEY));
    const below = newVersionOf(first, { path: "/a/b" });
    await store.write((tx) => tx.memoryStores.updateMemory(below, KEY));
    const above = newVersionOf(below, { path: "/a" });
    await store.write((tx) => tx.memoryStores.updateMemory(above, KEY));
    expect(await store.memoryStores.findMemory(key, first.id, "full")).toEqual(above);
  });

  test("lets one of several that write at once have a path", async () => {
    await using world = await open();
    const { store } = world;
    const key = await insertMemoryStore(store);
    const paths = ["/a", "/a/b", "/a/b/c", "/a", "/a/b/c/d", "/a/b"];
    const written = await Promise.allSettled(
      paths.map((path) =>
        store.write((tx) => tx.memoryStores.insertMemory(newMemory(key, { path }), KEY)),
      ),
    );
    const refused = written.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
    expect(refused).toHaveLength(paths.length - 1);
    for (const reason of refused) expect(reason).toBeInstanceOf(MemoryPathConflictError);
    expect(await store.memoryStores.listMemories(key, { limit: 9 })).toHaveLength(1);
    expect(await store.memoryStores.listVersions(key, {}, NEWEST)).toHaveLength(1);
  });
}

function testVersions(open: OpenStore): void {
  test("adds a version with every write, newest first, and keeps them after a deletion", async () => {
    await using world = await open();
    const { store, time } = world;
    const key = await insertMemoryStore(store);
    time.now = START + 1;
    const created = newMemory(key);
    await store.write((tx) => tx.memoryStores.insertMemory(created, KEY));
    const modified = newVersionOf(created, { path: "/other", content: "other" });
    const agent: Actor = { type: "session_actor", session_id: "sesn_1" };
    time.now = START + 2;
    await store.write((tx) => tx.memoryStores.updateMemory(modified, agent));
    const user: Actor = { type: "user_actor", user_id: "user_1" };
    await store.write((tx) => tx.memoryStores.deleteMemory(modified, "memver_end", user));
    const end = versionOf(modified, {
      ...{ id: "memver_end", seq: 3, operation: "deleted", created_at: at(2), created_by: user },
      ...{ content: null, content_sha256: null, content_size_bytes: null },
    });
    const middle = versionOf(modified, {
      ...{ seq: 2, operation: "modified", created_at: at(2), created_by: agent },
    });
    const start = versionOf(created, { seq: 1, created_at: at(1) });
    const { memoryStores } = store;
    const list = (page: { limit?: number; after?: number; view?: "basic" }, filter = {}) =>
      memoryStores.listVersions(key, filter, { limit: 100, view: "full", ...page });
    expect(await list({})).toEqual([end, middle, start]);
    expect(await list({ limit: 1, after: 3 })).toEqual([middle]);
    expect(await list({ view: "basic", after: 2 })).toEqual([{ ...start, content: null }]);
    expect(await list({}, { operation: "modified" })).toEqual([middle]);
    expect(await list({}, { createdBy: [KEY] })).toEqual([start]);
    expect(await list({}, { createdBy: [KEY, agent] })).toEqual([]);
    const sameId: Actor = { type: "service_account_actor", service_account_id: "user_1" };
    expect(await list({}, { createdBy: [sameId] })).toEqual([]);
    expect(await list({}, { createdAt: { gte: at(2), lte: at(2) } })).toEqual([end, middle]);
    expect(await list({}, { memoryId: created.id })).toHaveLength(3);
    expect(await list({}, { memoryId: "mem_0" })).toEqual([]);
    expect(await memoryStores.findVersion(key, start.id, "full")).toEqual(start);
    expect(await memoryStores.findMemory(key, created.id, "full")).toBeUndefined();
  });

  test("adds no version with a write that is refused", async () => {
    await using world = await open();
    const { store } = world;
    const key = await insertMemoryStore(store);
    const memory = newMemory(key);
    await store.write((tx) => tx.memoryStores.insertMemory(memory, KEY));
    const again = newMemory(key, { path: memory.path });
    const insert = store.write((tx) => tx.memoryStores.insertMemory(again, KEY));
    await expect(insert).rejects.toThrow(MemoryPathConflictError);
    const next = newMemory(key, { path: "/next" });
    await store.write((tx) => tx.memoryStores.insertMemory(next, KEY));
    const versions = await store.memoryStores.listVersions(key, {}, NEWEST);
    expect(versions.map(({ seq }) => seq)).toEqual([2, 1]);
  });

  test("takes what a redacted version said, and nothing else", async () => {
    await using world = await open();
    const { store, time } = world;
    const key = await insertMemoryStore(store);
    time.now = START + 1;
    const first = newMemory(key);
    const second = newVersionOf(first, { content: "new" });
    await store.write((tx) => tx.memoryStores.insertMemory(first, KEY));
    await store.write((tx) => tx.memoryStores.updateMemory(second, KEY));
    time.now = START + 2;
    const by: Actor = { type: "service_account_actor", service_account_id: "svac_1" };
    const { id } = versionOf(first, {});
    await store.write((tx) => tx.memoryStores.redactVersion(key, id, by));
    const redacted = versionOf(first, {
      ...{ seq: 1, created_at: at(1), redacted_at: at(2), redacted_by: by },
      ...{ path: null, content: null, content_sha256: null, content_size_bytes: null },
    });
    expect(await store.memoryStores.findVersion(key, id, "full")).toEqual(redacted);
    expect(await store.memoryStores.findMemory(key, first.id, "full")).toEqual(second);
  });
}

function newMemoryStore(changes: Partial<MemoryStoreRecord> = {}): MemoryStoreRecord {
  return {
    workspace_id: uniqueId("wrkspc"),
    id: uniqueId("memstore"),
    name: "Notes",
    description: "What was learnt",
    metadata: { owner: "ann" },
    created_at: at(0),
    updated_at: at(0),
    archived_at: null,
    ...changes,
  };
}

async function insertMemoryStore(
  store: Store,
  changes: Partial<MemoryStoreRecord> = {},
): Promise<MemoryStoreKey> {
  const record = newMemoryStore(changes);
  await store.write((tx) => tx.memoryStores.insert(record));
  return { workspaceId: record.workspace_id, storeId: record.id };
}

function recordKey({ workspaceId, storeId }: MemoryStoreKey) {
  return { workspace_id: workspaceId, id: storeId };
}

function newMemory(
  { workspaceId, storeId }: MemoryStoreKey,
  changes: Partial<WholeMemory> = {},
): WholeMemory {
  return {
    workspace_id: workspaceId,
    memory_store_id: storeId,
    id: uniqueId("mem"),
    memory_version_id: uniqueId("memver"),
    path: "/notes/today.md",
    content: "text",
    content_sha256: "a".repeat(64),
    content_size_bytes: 4,
    created_at: at(0),
    updated_at: at(0),
    ...changes,
  };
}

function newVersionOf(memory: WholeMemory, changes: Partial<WholeMemory>): WholeMemory {
  return { ...memory, memory_version_id: uniqueId("memver"), updated_at: at(1), ...changes };
}

/** The version that a write of the memory is expected to have added. */
function versionOf(memory: MemoryRecord, changes: object) {
  const { memory_version_id, created_at, updated_at, id, ...rest } = memory;
  return {
    ...rest,
    id: memory_version_id,
    memory_id: id,
    operation: "created",
    created_by: KEY,
    redacted_at: null,
    redacted_by: null,
    ...changes,
  };
}
