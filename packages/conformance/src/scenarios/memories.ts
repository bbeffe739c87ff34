import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { accepted, all, assertHas, assertRefused, assertTime, refused } from "../support/expect.ts";
import { newStore, sha256 } from "../support/memory.ts";

const INVALID = { status: 400, type: "invalid_request_error" };
const CONTENT_MAX = 102_400;

export const memories: readonly Scenario[] = [
  scenario(
    "a memory is kept byte by byte, and its content shown on demand",
    {
      verifies: [
        "memories.object",
        "memories.object.version",
        "memories.sha",
        "memories.sha.raw",
        "memories.sha.views",
        "memories.size",
        "memories.view.retrieve",
        "memories.view.create",
        "memories.view.update",
        "memories.view.list",
        "memories.view.unknown",
      ],
      rows: [106],
    },
    async (t) => {
      const { id, inStore, path, memories, versions, create } = await newStore(t);
      const content = "cafe\u0301 caf\u00e9\r\n\tü🎉\ufeff\u0001";
      const made = await create("/a/b.md", content);
      assertHas(made, {
        ...{ type: "memory", memory_store_id: id, path: "/a/b.md", content: null },
        ...{ content_sha256: sha256(content), content_size_bytes: Buffer.byteLength(content) },
      });
      assert.match(made.id, /^mem_/);
      assertTime(made.created_at);
      assertTime(made.updated_at);
      const whole = { ...made, content };
      assert.deepEqual(await memories.retrieve(made.id, inStore), whole);
      assert.deepEqual(await memories.retrieve(made.id, { ...inStore, view: "basic" }), made);
      assert.deepEqual((await memories.list(id)).data, [made]);
      assert.deepEqual((await memories.list(id, { view: "full" })).data, [whole]);
      const version = await versions.retrieve(made.memory_version_id, inStore);
      assertHas(version, { memory_id: made.id, content });
      const basic = await memories.update(made.id, { ...inStore, content: "two" });
      assertHas(basic, { content: null, content_sha256: sha256("two"), content_size_bytes: 3 });
      const full = { ...inStore, content: "three", view: "full" } as const;
      assertHas(await memories.update(made.id, full), { content: "three" });
      const other = await memories.create(id, { path: "/c", content: "c", view: "full" });
      assertHas(other, { content: "c", content_sha256: sha256("c") });
      for (const address of [path, `${path}/${made.id}`]) {
        accepted(await t.request("GET", `${address}?view=full`));
        assertRefused(await t.request("GET", `${address}?view=all`), { ...INVALID, says: /view/ });
      }
    },
  ),

  scenario(
    "a memory needs a path and a content, which may be empty and has a limit",
    {
      verifies: [
        "memories.create.path",
        "memories.create.content",
        "memories.content.empty",
        "memories.content.null",
        "memories.content.max",
      ],
      rows: [106],
    },
    async (t) => {
      const { inStore, path, memories, create } = await newStore(t);
      assertRefused(await t.request("POST", path, { body: { content: "" } }), {
        ...{ ...INVALID, says: /path/ },
      });
      assertRefused(await t.request("POST", path, { body: { path: "/a" } }), {
        ...{ ...INVALID, says: /content/ },
      });
      for (const [name, content] of [
        ["/empty", ""],
        ["/null", null],
      ] as const) {
        const memory = await create(name, content);
        assertHas(memory, { content_size_bytes: 0, content_sha256: sha256("") });
        assert.equal((await memories.retrieve(memory.id, inStore)).content, "");
      }
      const most = await create("/most", "x".repeat(CONTENT_MAX));
      const wide = await create("/wide", "é".repeat(CONTENT_MAX / 2));
      assertHas(wide, { content_size_bytes: CONTENT_MAX });
      for (const content of ["x".repeat(CONTENT_MAX + 1), `${"é".repeat(CONTENT_MAX / 2)}x`]) {
        await refused(create("/more", content), { ...INVALID, says: /content/ });
        const update = memories.update(most.id, { ...inStore, content });
        await refused(update, { ...INVALID, says: /content/ });
      }
      assertHas(await memories.retrieve(most.id, inStore), { content_size_bytes: CONTENT_MAX });
    },
  ),

  scenario(
    "a memory store takes 2,000 memories",
    { verifies: ["memories.create.max"], rows: [106] },
    async (t) => {
      const { inStore, memories, create } = await newStore(t);
      const first = await create("/first");
      const rest = Array.from({ length: 1_999 }, (_, index) => `/${index}`);
      const make = async () => {
        for (let path = rest.pop(); path !== undefined; path = rest.pop()) await create(path, "");
      };
      // Many at once: an engine commits what waits together.
      await Promise.all(Array.from({ length: 24 }, make));
      await refused(create("/more"), INVALID);
      await memories.delete(first.id, inStore);
      await create("/more");
    },
  ),

  scenario(
    "a path is of up to twenty proper segments and has nothing invisible in it",
    {
      verifies: [
        "memories.path.slash",
        "memories.path.segments",
        "memories.path.empty",
        "memories.path.dots",
        "memories.path.nfc",
        "memories.path.bytes",
        "memories.path.control",
        "memories.path.format",
        "memories.path.separators",
        "memories.path.case",
        "memories.path.rename",
      ],
      rows: [107],
    },
    async (t) => {
      const { inStore, memories, create } = await newStore(t);
      const segments = (count: number) => "/s".repeat(count);
      const good = [
        ...["/one", "/One", "/...", "/.a/..b", "/a b", "/caf\u00e9", "/日本/🎉.md"],
        ...[segments(20), `/${"x".repeat(1023)}`, `/${"é".repeat(511)}`],
      ];
      const bad = [
        ...["one", "", "/", "//a", "/a//b", "/a/", "/.", "/./a", "/..", "/a/../b"],
        ...[segments(21), `/${"x".repeat(1024)}`, `/${"é".repeat(512)}`, "/cafe\u0301", "/\u212b"],
        ...["/a\u0001", "/a\nb", "/a\u007f", "/a\u0085", "/a\u00adb", "/a\u200db", "/\ufeffa"],
        ...["/\u202ea", "/a\u{e0041}", "/a\u2028b", "/a\u2029b"],
      ];
      const other = await create("/other");
      for (const path of good) {
        const memory = await create(path);
        assert.equal(memory.path, path);
        await memories.delete(memory.id, inStore);
        const renamed = await memories.update(other.id, { ...inStore, path });
        assert.equal(renamed.path, path);
      }
      for (const path of bad) {
        await refused(create(path), { ...INVALID, says: /path/ });
        const rename = memories.update(other.id, { ...inStore, path });
        await refused(rename, { ...INVALID, says: /path/ });
      }
      await create("/case");
      await create("/CASE/of/another");
    },
  ),

  scenario(
    "no path is above, below or on that of another memory",
    {
      verifies: [
        "memories.conflict.same",
        "memories.conflict.ancestor",
        "memories.conflict.descendant",
        "memories.conflict.sibling",
        "memories.conflict.rename",
        "memories.conflict.error",
        "memories.conflict.fields",
        "memories.conflict.retry",
      ],
      rows: [107],
    },
    async (t) => {
      const { inStore, memories, create, history } = await newStore(t);
      const taken = await create("/a/b", "taken");
      const other = await create("/other", "other");
      const conflict = { status: 409, type: "memory_path_conflict_error" };
      for (const path of ["/a/b", "/a", "/a/b/c", "/a/b/c/d"]) {
        const rename = { ...inStore, path, content: "lost" };
        for (const attempt of [
          () => create(path, "lost"),
          () => memories.update(other.id, rename),
        ]) {
          const refusal = await refused(attempt(), conflict);
          assert.equal(refusal.headers?.get("x-should-retry"), "false");
          const { error } = refusal.error as { error: Record<string, unknown> };
          assertHas(error, { conflicting_memory_id: taken.id, conflicting_path: "/a/b" });
          assert.equal(error["details"], undefined);
        }
      }
      assert.equal((await memories.retrieve(taken.id, inStore)).content, "taken");
      assertHas(await memories.retrieve(other.id, inStore), { content: "other", path: "/other" });
      for (const path of ["/a/bb", "/a/b.md", "/a-b", "/a/B/c"]) await create(path);
      await memories.update(other.id, { ...inStore, path: "/a/c" });
      await memories.update(taken.id, { ...inStore, path: "/a/b/below" });
      await memories.update(taken.id, { ...inStore, path: "/a/b" });
      assert.equal((await history()).length, 9);
    },
  ),

  scenario(
    "of memories that are made at once in each other's way one is made",
    { verifies: ["memories.conflict.at-once"], rows: [107] },
    async (t) => {
      const { id, path: address, memories, history } = await newStore(t);
      for (const round of [1, 2, 3]) {
        const paths = [`/${round}`, `/${round}/a`, `/${round}/a/b`, `/${round}`, `/${round}/a`];
        const attempts = paths.map((path) =>
          t.request("POST", address, { body: { path, content: "" } }),
        );
        const statuses = (await Promise.all(attempts)).map(({ status }) => status);
        assert.deepEqual(statuses.sort(), [200, 409, 409, 409, 409]);
      }
      assert.equal((await all(memories.list(id))).length, 3);
      assert.equal((await history()).length, 3);
    },
  ),
];
