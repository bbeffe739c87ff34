import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { all, assertHas, assertTime, refused } from "../support/expect.ts";
import { type MemoryVersion, newStore, sha256 } from "../support/memory.ts";
import type { Target } from "../target.ts";

const MISSING = { status: 404, type: "not_found_error" };
const NOTHING = { content: null, content_sha256: null, content_size_bytes: null };

/** A memory that was made, changed, moved and deleted. */
async function newHistory(t: Target) {
  const store = await newStore(t);
  const { inStore, memories, create } = store;
  const memory = await create("/a", "one");
  await memories.update(memory.id, { ...inStore, content: "two" });
  const moved = await memories.update(memory.id, { ...inStore, path: "/b" });
  return { ...store, memory, moved, remove: () => memories.delete(memory.id, inStore) };
}

export const memoryVersions: readonly Scenario[] = [
  scenario(
    "every change of a memory is one version, which tells what it was",
    {
      verifies: [
        "memory-versions.object",
        "memory-versions.operations",
        "memory-versions.one",
        "memory-versions.newest",
        "memory-versions.content",
        "memory-versions.deleted",
        "memory-versions.survive",
        "memory-versions.view",
        "memory-versions.unknown",
      ],
      rows: [110],
    },
    async (t) => {
      const { id, inStore, memory, moved, memories, versions, remove } = await newHistory(t);
      const listed = await all(versions.list(id, { memory_id: memory.id }));
      assert.equal(listed[0]?.id, moved.memory_version_id);
      await remove();
      await refused(memories.retrieve(memory.id, inStore), MISSING);
      const history = await all(versions.list(id, { memory_id: memory.id, view: "full" }));
      const holding = (content: string) => ({
        ...{ content, content_sha256: sha256(content), content_size_bytes: content.length },
      });
      const expected = [
        { operation: "deleted", path: "/b", ...NOTHING },
        { operation: "modified", path: "/b", ...holding("two") },
        { operation: "modified", path: "/a", ...holding("two") },
        { operation: "created", path: "/a", ...holding("one") },
      ];
      assert.equal(history.length, expected.length);
      for (const [index, version] of history.entries()) {
        const fields = { type: "memory_version", memory_id: memory.id, memory_store_id: id };
        assertHas(version, { ...fields, ...expected[index], redacted_at: null });
        assert.match(version.id, /^memver_/);
        assertTime(version.created_at);
        assert.deepEqual(await versions.retrieve(version.id, inStore), version);
        const basic = await versions.retrieve(version.id, { ...inStore, view: "basic" });
        assert.deepEqual(basic, { ...version, content: null });
      }
      const basic = await all(versions.list(id));
      assert.deepEqual(
        basic,
        history.map((version) => ({ ...version, content: null })),
      );
      await refused(versions.retrieve("memver_0", inStore), MISSING);
      const elsewhere = await newStore(t);
      await refused(versions.retrieve(memory.memory_version_id, elsewhere.inStore), MISSING);
    },
  ),

  scenario(
    "versions are found by memory, operation, time and who made them",
    {
      verifies: [
        "memory-versions.actor",
        "memory-versions.filter.memory",
        "memory-versions.filter.operation",
        "memory-versions.filter.actor",
        "memory-versions.filter.created",
      ],
      rows: [110],
    },
    async (t) => {
      const { id, memory, create, versions, remove } = await newHistory(t);
      await remove();
      await create("/other");
      const found = async (query: object) =>
        (await all(versions.list(id, query))).map(({ operation }) => operation);
      const lifetime = ["deleted", "modified", "modified", "created"];
      assert.deepEqual(await found({ memory_id: memory.id }), lifetime);
      assert.deepEqual(await found({ memory_id: "mem_0" }), []);
      assert.deepEqual(await found({ operation: "created" }), ["created", "created"]);
      assert.deepEqual(await found({ operation: "deleted" }), ["deleted"]);
      await refused(versions.list(id, { operation: "renamed" as never }), { status: 400 });
      const history = await all(versions.list(id));
      const [newest] = history;
      const oldest = history.at(-1);
      assert.ok(newest !== undefined && oldest !== undefined);
      const actor = newest.created_by;
      assert.ok(actor?.type === "api_actor");
      assert.match(actor.api_key_id, /^apikey_/);
      for (const { created_by } of history) assert.deepEqual(created_by, actor);
      const { api_key_id } = actor;
      assert.equal((await found({ api_key_id })).length, 5);
      assert.deepEqual(await found({ api_key_id: "apikey_0" }), []);
      assert.deepEqual(await found({ session_id: api_key_id }), []);
      assert.deepEqual(await found({ service_account_id: api_key_id }), []);
      const bounds = {
        ...{ "created_at[gte]": oldest.created_at, "created_at[lte]": newest.created_at },
      };
      assert.equal((await found(bounds)).length, 5);
      const shifted = (time: string, ms: number) => new Date(Date.parse(time) + ms).toISOString();
      assert.deepEqual(await found({ "created_at[gte]": shifted(newest.created_at, 1) }), []);
      assert.deepEqual(await found({ "created_at[lte]": shifted(oldest.created_at, -1) }), []);
    },
  ),

  scenario(
    "versions come page by page, newest first, twenty at most with contents",
    { verifies: ["memory-versions.full", "memory-versions.pages"], rows: [110] },
    async (t) => {
      const { id, inStore, memory, memories, versions } = await newHistory(t);
      for (let count = 0; count < 20; count += 1) {
        await memories.update(memory.id, { ...inStore, content: String(count) });
      }
      const full = await versions.list(id, { view: "full", limit: 100 });
      assert.equal(full.data.length, 20);
      assert.equal(full.data[0]?.content, "19");
      assert.equal((await full.getNextPage()).data.length, 3);
      const seen: MemoryVersion[] = [];
      let page = await versions.list(id, { limit: 7 });
      for (let count = 0; ; count += 1) {
        seen.push(...page.data);
        await memories.update(memory.id, { ...inStore, content: `later ${count}` });
        if (!page.hasNextPage()) break;
        page = await page.getNextPage();
      }
      assert.equal(seen.length, 23);
      assert.equal(new Set(seen.map((version) => version.id)).size, 23);
      assert.equal(seen.at(-1)?.operation, "created");
    },
  ),

  scenario(
    "redacting takes what a version said and leaves that it was",
    {
      verifies: [
        "memory-versions.redact",
        "memory-versions.redact.by",
        "memory-versions.redact.rest",
        "memory-versions.redact.path",
        "memory-versions.redact.again",
        "memory-versions.redact.head",
        "memory-versions.redact.memory",
      ],
      rows: [111],
    },
    async (t) => {
      const { id, inStore, memory, moved, memories, versions, remove } = await newHistory(t);
      const first = memory.memory_version_id;
      const before = await versions.retrieve(first, inStore);
      const redacted = await versions.redact(first, inStore);
      assertTime(redacted.redacted_at);
      assert.deepEqual(redacted, {
        ...{ ...before, ...NOTHING, path: null },
        ...{ redacted_at: redacted.redacted_at, redacted_by: before.created_by },
      });
      assert.deepEqual(await versions.retrieve(first, inStore), redacted);
      assert.deepEqual(await versions.redact(first, inStore), redacted);
      const head = moved.memory_version_id;
      await refused(versions.redact(head, inStore), { status: 400, type: "invalid_request_error" });
      assertHas(await memories.retrieve(memory.id, inStore), { content: "two", path: "/b" });
      await remove();
      await versions.redact(head, inStore);
      const history = await all(versions.list(id));
      for (const { path, redacted_at } of history) {
        assert.equal(path === null, redacted_at !== null);
      }
      assert.deepEqual(
        history.map(({ path }) => path),
        ["/b", null, "/a", null],
      );
      await refused(versions.redact("memver_0", inStore), MISSING);
    },
  ),
];
