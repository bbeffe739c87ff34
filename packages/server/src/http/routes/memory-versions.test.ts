import type Anthropic from "@anthropic-ai/sdk";
import { expect, test } from "vitest";
import { openWorld } from "../world.testsuite.ts";
import { clientOf, sha256 } from "./memories.testsuite.ts";

/** A memory that was made, changed, moved and deleted, a second apart. */
async function openHistory() {
  const time = { now: Date.parse("2026-01-01T00:00:00Z") };
  const world = await openWorld({ now: () => time.now });
  const client = clientOf(world);
  const { memories, memoryVersions: versions, ...stores } = client;
  const { id: storeId } = await client.create({ name: "Notes" });
  const inStore = { memory_store_id: storeId };
  const memory = await memories.create(storeId, { path: "/a", content: "one" });
  time.now += 1_000;
  await memories.update(memory.id, { ...inStore, content: "two" });
  time.now += 1_000;
  const moved = await memories.update(memory.id, { ...inStore, path: "/b" });
  time.now += 1_000;
  const remove = () => memories.delete(memory.id, inStore);
  return { world, time, storeId, inStore, memory, moved, memories, versions, stores, remove };
}

test("every change of a memory is a version that tells who made it", async () => {
  const { world, storeId, inStore, memory, versions, remove } = await openHistory();
  await remove();
  const list = await versions.list(storeId, { view: "full" });
  const version = {
    id: expect.stringMatching(/^memver_/),
    type: "memory_version",
    memory_store_id: storeId,
    memory_id: memory.id,
    created_by: { type: "api_actor", api_key_id: expect.stringMatching(/^apikey_/) },
    redacted_at: null,
  };
  const holding = (content: string) => ({
    ...{ content, content_sha256: sha256(content), content_size_bytes: content.length },
  });
  const nothing = { content: null, content_sha256: null, content_size_bytes: null };
  const at = (second: number) => ({ created_at: `2026-01-01T00:00:0${second}.000Z` });
  expect(list.data).toEqual([
    { ...version, operation: "deleted", path: "/b", ...nothing, ...at(3) },
    { ...version, operation: "modified", path: "/b", ...holding("two"), ...at(2) },
    { ...version, operation: "modified", path: "/a", ...holding("two"), ...at(1) },
    { ...version, operation: "created", path: "/a", ...holding("one"), ...at(0) },
  ]);
  const basic = await versions.list(storeId);
  expect(basic.data).toEqual(list.data.map((each) => ({ ...each, content: null })));
  const first = list.data[3];
  expect(await versions.retrieve(first?.id ?? "", inStore)).toEqual(first);
  const keys = await world.store.apiKeys.list(world.workspaceId);
  expect(first?.created_by).toEqual({ type: "api_actor", api_key_id: keys[0]?.id });
});

test("the version of a memory that is named in it is its newest", async () => {
  const { storeId, memory, moved, versions } = await openHistory();
  const { data } = await versions.list(storeId, { memory_id: memory.id });
  expect(data[0]?.id).toBe(moved.memory_version_id);
});

test("versions are found by memory, operation, time and who made them", async () => {
  const { world, storeId, memory, memories, versions, remove } = await openHistory();
  await remove();
  await memories.create(storeId, { path: "/other", content: "" });
  const found = async (query: Anthropic.Beta.MemoryStores.MemoryVersionListParams) => {
    const operations: string[] = [];
    for await (const { operation } of versions.list(storeId, { limit: 1, ...query })) {
      operations.push(operation);
    }
    return operations;
  };
  const all = ["deleted", "modified", "modified", "created"];
  expect(await found({ memory_id: memory.id })).toEqual(all);
  expect(await found({ operation: "created" })).toEqual(["created", "created"]);
  expect(await found({ memory_id: "mem_0" })).toEqual([]);
  const [key] = await world.store.apiKeys.list(world.workspaceId);
  expect(await found({ api_key_id: key?.id ?? "" })).toEqual(["created", ...all]);
  expect(await found({ api_key_id: "apikey_0" })).toEqual([]);
  expect(await found({ session_id: key?.id ?? "" })).toEqual([]);
  expect(await found({ api_key_id: key?.id ?? "", service_account_id: "svac_1" })).toEqual([]);
  const middle = {
    ...{ "created_at[gte]": "2026-01-01T00:00:01Z", "created_at[lte]": "2026-01-01T00:00:02Z" },
  };
  expect(await found(middle)).toEqual(["modified", "modified"]);
});

test("a page of versions with contents has at most 20", async () => {
  const { storeId, inStore, memory, memories, versions } = await openHistory();
  for (let number = 0; number < 20; number += 1) {
    await memories.update(memory.id, { ...inStore, content: String(number) });
  }
  expect((await versions.list(storeId, { view: "full", limit: 100 })).data).toHaveLength(20);
  expect((await versions.list(storeId, { limit: 100 })).data).toHaveLength(23);
});

test("a cursor of versions is refused where the times asked for leave its place out", async () => {
  const { storeId, versions } = await openHistory();
  const first = await versions.list(storeId, { limit: 1 });
  const page = first.next_page ?? "";
  const rest = await versions.list(storeId, { page, "created_at[gte]": "2026-01-01T00:00:00Z" });
  expect(rest.data).toHaveLength(2);
  const past = versions.list(storeId, { page, "created_at[lte]": "2026-01-01T00:00:01Z" });
  await expect(past).rejects.toMatchObject({ status: 400, message: /page: .*created_at/ });
});

test("a redacted version keeps that it was, when and by whom", async () => {
  const { time, world, inStore, memory, versions } = await openHistory();
  const id = memory.memory_version_id;
  const before = await versions.retrieve(id, inStore);
  const redacted = await versions.redact(id, inStore);
  expect(redacted).toEqual({
    ...before,
    ...{ path: null, content: null, content_sha256: null, content_size_bytes: null },
    redacted_at: "2026-01-01T00:00:03.000Z",
    redacted_by: before.created_by,
  });
  time.now += 1_000;
  expect(await versions.redact(id, inStore)).toEqual(redacted);
  expect(await versions.retrieve(id, inStore)).toEqual(redacted);
  const path = `/v1/memory_stores/${inStore.memory_store_id}/memory_versions/${id}/redact`;
  expect((await world.request("POST", `${path}?view=full`)).status).toBe(400);
  expect((await world.request("POST", path, { reason: "x" })).status).toBe(400);
});

test("the version with a memory's content is redacted after the memory is gone", async () => {
  const { storeId, inStore, moved, memories, versions, remove } = await openHistory();
  const id = moved.memory_version_id;
  await expect(versions.redact(id, inStore)).rejects.toMatchObject({
    ...{ status: 400, type: "invalid_request_error", message: /current content/ },
  });
  expect((await memories.retrieve(moved.id, inStore)).content).toBe("two");
  await remove();
  await versions.redact(id, inStore);
  const { data } = await versions.list(storeId, { operation: "deleted" });
  await versions.redact(data[0]?.id ?? "", inStore);
  expect((await versions.list(storeId)).data.map(({ path }) => path)).toEqual([
    ...[null, null, "/a", "/a"],
  ]);
});

test("a version is not found elsewhere", async () => {
  const { inStore, memory, versions } = await openHistory();
  const missing = { status: 404, type: "not_found_error" };
  const id = memory.memory_version_id;
  await expect(versions.retrieve("memver_0", inStore)).rejects.toMatchObject(missing);
  await expect(versions.redact("memver_0", inStore)).rejects.toMatchObject(missing);
  const there = { memory_store_id: "memstore_0" };
  await expect(versions.retrieve(id, there)).rejects.toMatchObject(missing);
});
