import { ConflictError } from "@anthropic-ai/sdk";
import { describe, expect, test } from "vitest";
import { clientOf, fill, openMemories, sha256 } from "./memories.testsuite.ts";

const NEVER = "0".repeat(64);

describe("a memory", () => {
  test("is answered without its content, but when it is retrieved or asked for", async () => {
    const { memories, storeId, inStore, create } = await openMemories();
    const content = "caf\u00e9 cafe\u0301\r\n";
    const made = await create("/a/b.md", content);
    expect(made).toEqual({
      id: expect.stringMatching(/^mem_/),
      type: "memory",
      memory_store_id: storeId,
      memory_version_id: expect.stringMatching(/^memver_/),
      path: "/a/b.md",
      content: null,
      content_sha256: sha256(content),
      content_size_bytes: Buffer.byteLength(content),
      created_at: expect.any(String),
      updated_at: made.created_at,
    });
    const whole = { ...made, content };
    expect(await memories.retrieve(made.id, inStore)).toEqual(whole);
    expect(await memories.retrieve(made.id, { ...inStore, view: "basic" })).toEqual(made);
    expect(await memories.update(made.id, { ...inStore, content })).toEqual(made);
    const full = { ...inStore, view: "full" } as const;
    expect(await memories.update(made.id, full)).toEqual(whole);
    const other = await memories.create(storeId, { path: "/o", content: "o", view: "full" });
    expect(other.content).toBe("o");
    expect((await memories.list(storeId)).data[0]).toEqual(made);
    expect((await memories.list(storeId, { view: "full" })).data[0]).toEqual(whole);
  });

  test("may be empty, as null makes it too, and as large as 102,400 bytes", async () => {
    const { create } = await openMemories();
    const empty = [await create("/a", ""), await create("/b", null)];
    for (const memory of empty) {
      expect([memory.content_size_bytes, memory.content_sha256]).toEqual([0, sha256("")]);
    }
    expect((await create("/c", "é".repeat(51_200))).content_size_bytes).toBe(102_400);
    for (const content of [`${"é".repeat(51_200)}x`, "x".repeat(102_401)]) {
      const create2 = create("/d", content);
      await expect(create2).rejects.toMatchObject({ status: 400, message: /content/ });
    }
  });

  test.each([
    [{ content: "" }, "path"],
    [{ path: "/a" }, "content"],
    [{ path: "a", content: "" }, "path"],
    [{ path: "/a/../b", content: "" }, "path"],
    [{ path: "/e\u0301", content: "" }, "path"],
    [{ path: "/a", content: 1 }, "content"],
    [{ path: "/a", content: "", view: "full" }, "view"],
  ])("cannot be made of %j", async (body, field) => {
    const { world, storeId } = await openMemories();
    const answer = await world.request("POST", `/v1/memory_stores/${storeId}/memories`, body);
    expect([answer.status, answer.body.error.message]).toEqual([
      400,
      expect.stringContaining(field),
    ]);
  });

  test("keeps its id when its path changes, and leaves the old one free", async () => {
    const { memories, inStore, create, paths, history } = await openMemories();
    const made = await create("/a");
    const moved = await memories.update(made.id, { ...inStore, path: "/a/b" });
    expect(moved).toMatchObject({ id: made.id, path: "/a/b", content_sha256: sha256("text") });
    expect(moved.memory_version_id).not.toBe(made.memory_version_id);
    expect((await memories.retrieve(made.id, inStore)).content).toBe("text");
    await create("/b");
    expect(await paths()).toEqual(["/a/b", "/b"]);
    expect(await history()).toEqual(["created /b", "modified /a/b", "created /a"]);
  });

  test("is changed by PATCH as by POST", async () => {
    const { world, storeId, memories, inStore, create } = await openMemories();
    const { id } = await create("/a");
    const path = `/v1/memory_stores/${storeId}/memories/${id}?view=full`;
    const { status, body } = await world.request("PATCH", path, { content: "new" });
    expect([status, body]).toMatchObject([200, { id, content: "new" }]);
    expect((await memories.retrieve(id, inStore)).content).toBe("new");
  });

  test("gets no version from an update that changes nothing", async () => {
    const { memories, inStore, create, history } = await openMemories();
    const made = await create("/a");
    const same = [{}, { content: null, path: null }, { content: "text" }, { path: "/a" }];
    for (const change of same) {
      expect(await memories.update(made.id, { ...inStore, ...change })).toEqual(made);
    }
    expect(await history()).toEqual(["created /a"]);
  });

  test("has a path that is neither another's nor above or below it", async () => {
    const { memories, inStore, create, history } = await openMemories();
    const taken = await create("/a/b");
    const other = await create("/other");
    const conflict = {
      type: "error",
      request_id: expect.any(String),
      error: {
        type: "memory_path_conflict_error",
        message: expect.stringContaining("/a/b"),
        conflicting_memory_id: taken.id,
        conflicting_path: "/a/b",
      },
    };
    for (const path of ["/a", "/a/b", "/a/b/c"]) {
      const update = memories.update(other.id, { ...inStore, path, content: "lost" });
      for (const outcome of await Promise.allSettled([create(path), update])) {
        expect(outcome).toMatchObject({ reason: { status: 409, error: conflict } });
        const reason: unknown = outcome.status === "rejected" && outcome.reason;
        expect(reason).toBeInstanceOf(ConflictError);
        if (!(reason instanceof ConflictError)) continue;
        expect(reason.headers.get("x-should-retry")).toBe("false");
      }
    }
    await create("/A/b/c");
    expect((await memories.retrieve(other.id, inStore)).content).toBe("text");
    expect(await history()).toHaveLength(3);
  });

  test("lets one of those through that are made at once in each other's way", async () => {
    const { create, paths } = await openMemories();
    const attempts = ["/a/b", "/a", "/a/b/c", "/a"].map((path) => create(path));
    const outcomes = await Promise.allSettled(attempts);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await paths()).toHaveLength(1);
  });

  test("is one of at most 2,000", async () => {
    const { world, storeId, memories, inStore, create } = await openMemories();
    await fill(world, storeId, 1_999);
    const last = await create("/last");
    await expect(create("/more")).rejects.toMatchObject({ status: 400, message: /2000/ });
    await memories.delete(last.id, inStore);
    await create("/more");
  });

  test("is not found in a store that it is not in, nor once it is deleted", async () => {
    const { world, memories, inStore, create } = await openMemories();
    const memory = await create("/a");
    const { id: elsewhere } = await clientOf(world).create({ name: "Other" });
    const missing = { status: 404, type: "not_found_error" };
    const there = { memory_store_id: elsewhere };
    await expect(memories.retrieve(memory.id, there)).rejects.toMatchObject(missing);
    await expect(memories.delete(memory.id, there)).rejects.toMatchObject(missing);
    const deleted = await memories.delete(memory.id, inStore);
    expect(deleted).toEqual({ id: memory.id, type: "memory_deleted" });
    await expect(memories.delete(memory.id, inStore)).rejects.toMatchObject(missing);
    const update = memories.update(memory.id, { ...inStore, content: "x" });
    await expect(update).rejects.toMatchObject(missing);
  });
});

describe("a precondition", () => {
  const ifIs = (content_sha256: string) => ({
    precondition: { type: "content_sha256", content_sha256 } as const,
  });
  const failed = { status: 409, type: "memory_precondition_failed_error" };

  test("lets an update through on the content that it names, and no other", async () => {
    const { memories, inStore, create, history } = await openMemories();
    const { id } = await create("/a", "one");
    const update = (change: object, sha: string) =>
      memories.update(id, { ...inStore, ...change, ...ifIs(sha) });
    await update({ content: "two" }, sha256("one"));
    await expect(update({ content: "three" }, sha256("one"))).rejects.toMatchObject(failed);
    await expect(update({ path: "/b" }, sha256("one"))).rejects.toMatchObject(failed);
    await expect(update({}, sha256("one"))).rejects.toMatchObject(failed);
    await update({ path: "/b" }, sha256("two"));
    expect(await history()).toEqual(["modified /b", "modified /a", "created /a"]);
  });

  test("holds for a memory that is already as it is wanted", async () => {
    const { memories, inStore, create, history } = await openMemories();
    const made = await create("/a", "one");
    for (const change of [{ content: "one" }, { path: "/a" }, { content: "one", path: "/a" }]) {
      const update = memories.update(made.id, { ...inStore, ...change, ...ifIs(NEVER) });
      expect(await update).toEqual(made);
    }
    const half = { ...inStore, content: "one", path: "/b", ...ifIs(NEVER) };
    await expect(memories.update(made.id, half)).rejects.toMatchObject(failed);
    expect(await history()).toEqual(["created /a"]);
  });

  test("is refused when it says nothing", async () => {
    const { memories, inStore, create } = await openMemories();
    const { id } = await create("/a");
    const update = { ...inStore, content: "x", precondition: { type: "content_sha256" } } as const;
    const refused = { status: 400, message: /precondition\.content_sha256/ };
    await expect(memories.update(id, update)).rejects.toMatchObject(refused);
    const upper = { ...inStore, content: "x", ...ifIs(sha256("text").toUpperCase()) };
    await expect(memories.update(id, upper)).rejects.toMatchObject(refused);
  });

  test("keeps a deletion from content that nobody has seen", async () => {
    const { memories, inStore, create, history } = await openMemories();
    const { id } = await create("/a", "one");
    const remove = (expected_content_sha256: string) =>
      memories.delete(id, { ...inStore, expected_content_sha256 });
    await expect(remove(sha256("two"))).rejects.toMatchObject(failed);
    await remove(sha256("one"));
    expect(await history()).toEqual(["deleted /a", "created /a"]);
  });
});
