import { describe, expect, test } from "vitest";
import { openWorld } from "../world.testsuite.ts";
import { clientOf } from "./memories.testsuite.ts";

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

describe("memory stores", () => {
  test("are made, read, changed and deleted", async () => {
    const client = clientOf(await openWorld());
    const made = await client.create({ name: "Notes", metadata: { a: "1", b: "2" } });
    expect(made).toEqual({
      id: expect.stringMatching(/^memstore_/),
      type: "memory_store",
      name: "Notes",
      description: "",
      metadata: { a: "1", b: "2" },
      created_at: TIME,
      updated_at: made.created_at,
      archived_at: null,
    });
    expect(await client.retrieve(made.id)).toEqual(made);
    const changed = await client.update(made.id, {
      ...{ name: "Other", description: "What is known", metadata: { a: null, c: "3" } },
    });
    expect(changed).toEqual({
      ...made,
      ...{ name: "Other", description: "What is known", metadata: { b: "2", c: "3" } },
      updated_at: changed.updated_at,
    });
    const cleared = await client.update(made.id, { name: null, description: "", metadata: null });
    expect(cleared).toMatchObject({ name: "Other", description: "", metadata: { b: "2", c: "3" } });
    expect(await client.delete(made.id)).toEqual({ id: made.id, type: "memory_store_deleted" });
    await expect(client.retrieve(made.id)).rejects.toMatchObject({ status: 404 });
    await expect(client.memories.list(made.id)).rejects.toMatchObject({ status: 404 });
    await expect(client.memoryVersions.list(made.id)).rejects.toMatchObject({ status: 404 });
  });

  test("show when they were changed, and not that a memory or nothing was", async () => {
    const time = { now: Date.parse("2026-01-01T00:00:00Z") };
    const client = clientOf(await openWorld({ now: () => time.now }));
    const made = await client.create({ name: "Notes" });
    time.now += 1_000;
    await client.memories.create(made.id, { path: "/a", content: "a" });
    await client.update(made.id, {});
    await client.update(made.id, { name: "Notes", metadata: { gone: null } });
    expect(await client.retrieve(made.id)).toEqual(made);
    const changed = await client.update(made.id, { description: "x" });
    expect(changed.updated_at).toBe("2026-01-01T00:00:01.000Z");
    time.now += 1_000;
    const archived = await client.archive(made.id);
    expect([archived.updated_at, archived.archived_at]).toEqual(
      Array.from({ length: 2 }, () => "2026-01-01T00:00:02.000Z"),
    );
    time.now += 1_000;
    expect(await client.archive(made.id)).toEqual(archived);
  });

  test("are listed newest first, archived ones on demand", async () => {
    const time = { now: Date.parse("2026-01-01T00:00:00Z") };
    const client = clientOf(await openWorld({ now: () => time.now }));
    const made = [];
    for (const name of ["one", "two", "three"]) {
      made.push(await client.create({ name }));
      time.now += 1_000;
    }
    await client.archive(made[1]?.id ?? "");
    const names = async (query: Parameters<typeof client.list>[0]) => {
      const found = [];
      for await (const { name } of client.list(query)) found.push(name);
      return found;
    };
    expect(await names({})).toEqual(["three", "one"]);
    expect(await names({ include_archived: true, limit: 1 })).toEqual(["three", "two", "one"]);
    const second = { "created_at[gte]": "2026-01-01T00:00:01Z" };
    expect(await names({ ...second, include_archived: true })).toEqual(["three", "two"]);
    expect(await names({ "created_at[lte]": "2026-01-01T01:00:01+01:00" })).toEqual(["one"]);
  });

  test("can be read and emptied when they are archived, and not written to", async () => {
    const client = clientOf(await openWorld());
    const { id } = await client.create({ name: "Notes" });
    const inStore = { memory_store_id: id };
    const memory = await client.memories.create(id, { path: "/a", content: "1" });
    const other = await client.memories.create(id, { path: "/b", content: "1" });
    await client.memories.update(memory.id, { ...inStore, content: "2" });
    await client.archive(id);
    const refused = { status: 400, type: "invalid_request_error" };
    await expect(client.update(id, { name: "x" })).rejects.toMatchObject(refused);
    const create = client.memories.create(id, { path: "/c", content: "" });
    await expect(create).rejects.toMatchObject(refused);
    for (const change of [{ content: "3" }, { content: "2" }, { path: "/d" }]) {
      const update = client.memories.update(memory.id, { ...inStore, ...change });
      await expect(update).rejects.toMatchObject(refused);
    }
    expect((await client.memories.list(id)).data).toHaveLength(2);
    expect((await client.memories.retrieve(other.id, inStore)).content).toBe("1");
    const { memory_version_id } = memory;
    const redacted = await client.memoryVersions.redact(memory_version_id, inStore);
    expect(redacted.path).toBeNull();
    await client.memories.delete(memory.id, inStore);
    expect((await client.memoryVersions.list(id)).data).toHaveLength(4);
    await client.delete(id);
  });

  test.each<[string, object, string]>([
    ["no name", {}, "name"],
    ["an empty name", { name: "" }, "name"],
    ["a name that is too long", { name: "n".repeat(256) }, "name"],
    ["a control character in the name", { name: "a\u0085b" }, "name"],
    ["a description that is too long", { name: "n", description: "d".repeat(1025) }, "description"],
    ["a wrong kind of metadata", { name: "n", metadata: { a: 1 } }, "metadata.a"],
    ["a field that is unknown", { name: "n", colour: "red" }, "colour"],
  ])("are refused with %s", async (_name, body, field) => {
    const world = await openWorld();
    const { status, body: answer } = await world.request("POST", "/v1/memory_stores", body);
    expect([status, answer.error.message]).toEqual([400, expect.stringContaining(field)]);
    const limits = { name: "n".repeat(255), description: "d".repeat(1024) };
    expect((await world.request("POST", "/v1/memory_stores", limits)).status).toBe(200);
  });

  test("belong to a workspace", async () => {
    const world = await openWorld();
    const client = clientOf(world);
    const store = await client.create({ name: "Notes" });
    const memory = await client.memories.create(store.id, { path: "/a", content: "a" });
    const stranger = clientOf(world, (await world.addKey("admin")).key);
    const inStore = { memory_store_id: store.id };
    const attempts = [
      stranger.retrieve(store.id),
      stranger.update(store.id, { name: "x" }),
      stranger.archive(store.id),
      stranger.delete(store.id),
      stranger.memories.create(store.id, { path: "/b", content: "" }),
      stranger.memories.list(store.id),
      stranger.memories.retrieve(memory.id, inStore),
      stranger.memories.update(memory.id, { ...inStore, content: "x" }),
      stranger.memories.delete(memory.id, inStore),
      stranger.memoryVersions.list(store.id),
      stranger.memoryVersions.retrieve(memory.memory_version_id, inStore),
      stranger.memoryVersions.redact(memory.memory_version_id, inStore),
    ];
    for (const outcome of await Promise.allSettled(attempts)) {
      expect(outcome).toMatchObject({ status: "rejected", reason: { status: 404 } });
    }
    expect((await stranger.list()).data).toEqual([]);
    expect((await client.memories.retrieve(memory.id, inStore)).content).toBe("a");
  });

  test("are asked for with either beta, with none, and not with both", async () => {
    const world = await openWorld();
    const get = (path: string, beta?: string) =>
      world.request("GET", path, undefined, beta === undefined ? {} : { "anthropic-beta": beta });
    const memory = "agent-memory-2026-07-22";
    const agents = "managed-agents-2026-04-01";
    for (const beta of [undefined, memory, agents, `other-1,${memory}`]) {
      expect((await get("/v1/memory_stores", beta)).status).toBe(200);
    }
    for (const path of ["/v1/memory_stores", "/v1/memory_stores/memstore_1/memories"]) {
      const { status, body } = await get(path, `${agents}, ${memory}`);
      expect([status, body.error.message]).toEqual([
        400,
        expect.stringContaining("anthropic-beta"),
      ]);
    }
    expect((await get("/v1/agents", `${agents},${memory}`)).status).toBe(200);
  });
});
