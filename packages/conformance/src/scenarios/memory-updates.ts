import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { accepted, assertHas, refused } from "../support/expect.ts";
import { newStore, sha256 } from "../support/memory.ts";

const INVALID = { status: 400, type: "invalid_request_error" };
const MISSING = { status: 404, type: "not_found_error" };

export const memoryUpdates: readonly Scenario[] = [
  scenario(
    "an update changes content, path or both, and the memory stays the same one",
    {
      verifies: [
        "memories.update.content",
        "memories.update.path",
        "memories.update.both",
        "memories.update.id",
        "memories.update.times",
        "memories.update.nothing",
        "memories.update.patch",
      ],
      rows: [106],
    },
    async (t) => {
      const { inStore, path: address, memories, create, history } = await newStore(t);
      const made = await create("/a", "one");
      const full = { ...inStore, view: "full" } as const;
      assert.equal((await memories.retrieve(made.id, inStore)).content, "one");
      const content = await memories.update(made.id, { ...full, content: "two" });
      assertHas(content, { id: made.id, path: "/a", content: "two" });
      assert.notEqual(content.memory_version_id, made.memory_version_id);
      assert.equal(content.created_at, made.created_at);
      assert.ok(Date.parse(content.updated_at) > Date.parse(made.updated_at));
      const path = await memories.update(made.id, { ...full, path: "/b" });
      assertHas(path, { id: made.id, path: "/b", content: "two", content_sha256: sha256("two") });
      const both = await memories.update(made.id, { ...full, path: "/a/c", content: "three" });
      assertHas(both, { id: made.id, path: "/a/c", content: "three" });
      for (const same of [
        {},
        { path: "/a/c" },
        { content: "three" },
        { content: null, path: null },
      ]) {
        assert.deepEqual(await memories.update(made.id, { ...full, ...same }), both);
      }
      assert.equal((await history(made.id)).length, 4);
      const body = { content: "four" };
      const patched = await t.request("PATCH", `${address}/${made.id}?view=full`, { body });
      assertHas(accepted(patched), { id: made.id, path: "/a/c", content: "four" });
      assert.equal((await memories.retrieve(made.id, inStore)).content, "four");
      assert.equal((await history(made.id)).length, 5);
    },
  ),

  scenario(
    "an update with a precondition is made on the content that it names",
    {
      verifies: [
        "memories.precondition.holds",
        "memories.precondition.fails",
        "memories.precondition.desired",
        "memories.precondition.rename",
        "memories.precondition.none",
        "memories.precondition.retry",
        "memories.precondition.form",
      ],
      rows: [108],
    },
    async (t) => {
      const { inStore, memories, create, history } = await newStore(t);
      const { id } = await create("/a", "one");
      const failed = { status: 409, type: "memory_precondition_failed_error" };
      const update = (change: object, content_sha256?: string) => {
        const sha = content_sha256 === undefined ? {} : { content_sha256 };
        const precondition = { type: "content_sha256", ...sha } as const;
        return memories.update(id, { ...inStore, ...change, precondition });
      };
      await update({ content: "two" }, sha256("one"));
      const refusal = await refused(update({ content: "three" }, sha256("one")), failed);
      assert.equal(refusal.headers?.get("x-should-retry"), "false");
      await refused(update({ path: "/b" }, sha256("one")), failed);
      await refused(update({ content: "two", path: "/b" }, sha256("one")), failed);
      assertHas(await memories.retrieve(id, inStore), { path: "/a", content: "two" });
      await update({ content: "two" }, sha256("one"));
      await update({ content: "two", path: "/a" }, sha256("one"));
      assert.equal((await history(id)).length, 2);
      await update({ path: "/b" }, sha256("two"));
      await memories.update(id, { ...inStore, content: "three" });
      const invalid = { ...INVALID, says: /content_sha256/ };
      for (const sha of [sha256("three").toUpperCase(), "0", undefined]) {
        await refused(update({ content: "four" }, sha), invalid);
      }
      const odd = { type: "etag", content_sha256: sha256("three") } as never;
      const change = { ...inStore, content: "four", precondition: odd };
      await refused(memories.update(id, change), { ...INVALID, says: /precondition/ });
      assert.equal((await memories.retrieve(id, inStore)).content, "three");
    },
  ),

  scenario(
    "a memory is deleted, on condition of its content if that is asked for",
    {
      verifies: [
        "memories.delete",
        "memories.delete.gone",
        "memories.delete.expected",
        "memories.delete.unexpected",
        "memories.unknown",
      ],
      rows: [106, 108],
    },
    async (t) => {
      const { inStore, memories, create } = await newStore(t);
      const elsewhere = await newStore(t);
      const { id } = await create("/a", "one");
      const expecting = (text: string) => ({
        ...inStore,
        expected_content_sha256: sha256(text),
      });
      const failed = { status: 409, type: "memory_precondition_failed_error" };
      const refusal = await refused(memories.delete(id, expecting("two")), failed);
      assert.equal(refusal.headers?.get("x-should-retry"), "false");
      assert.equal((await memories.retrieve(id, inStore)).content, "one");
      await refused(memories.delete(id, elsewhere.inStore), MISSING);
      assert.deepEqual(await memories.delete(id, expecting("one")), { id, type: "memory_deleted" });
      for (const missing of [id, "mem_0"]) {
        await refused(memories.retrieve(missing, inStore), MISSING);
        await refused(memories.update(missing, { ...inStore, content: "x" }), MISSING);
        await refused(memories.delete(missing, inStore), MISSING);
      }
      const again = await create("/a", "one");
      assert.notEqual(again.id, id);
      await memories.delete(again.id, inStore);
    },
  ),
];
