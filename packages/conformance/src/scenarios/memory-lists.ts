import assert from "node:assert/strict";
import type Anthropic from "@anthropic-ai/sdk";
import { type Scenario, scenario } from "../scenario.ts";
import { accepted, assertRefused } from "../support/expect.ts";
import { newStore } from "../support/memory.ts";
import type { Target } from "../target.ts";

type Query = Anthropic.Beta.MemoryStores.MemoryListParams;

const INVALID = { status: 400, type: "invalid_request_error" };
const PATHS = ["/a.md", "/a/1.md", "/a/b/2.md", "/a/b/3.md", "/a-b/4.md", "/c/d/e/f.md", "/é.md"];

/** A store with memories at the paths, never changed by a scenario. */
async function sharedStore(t: Target) {
  const store = await t.shared("memories", async () => {
    const made = await newStore(t);
    for (const path of PATHS) await made.create(path);
    return made;
  });
  const items = async (query: Query) => {
    const found: string[] = [];
    for await (const item of store.memories.list(store.id, query)) {
      found.push(`${item.type} ${item.path}`);
    }
    return found.sort();
  };
  const memories = (paths: readonly string[]) => paths.map((path) => `memory ${path}`);
  const prefixes = (paths: readonly string[]) => paths.map((path) => `memory_prefix ${path}`);
  return { ...store, items, memories, prefixes };
}

export const memoryLists: readonly Scenario[] = [
  scenario(
    "memories are listed whole, or a folder's direct children at a time",
    {
      verifies: [
        "memories.list.all",
        "memories.list.depth",
        "memories.list.prefix-item",
        "memories.list.depth-max",
        "memories.list.drill",
      ],
      rows: [109],
    },
    async (t) => {
      const { id, path, items, memories, prefixes } = await sharedStore(t);
      const everything = memories(PATHS).sort();
      assert.deepEqual(await items({}), everything);
      assert.deepEqual(await items({ depth: 0 }), everything);
      const top = [...memories(["/a.md", "/é.md"]), ...prefixes(["/a/", "/a-b/", "/c/"])];
      assert.deepEqual(await items({ depth: 1 }), top.sort());
      const below = [...memories(["/a/1.md"]), ...prefixes(["/a/b/"])];
      assert.deepEqual(await items({ depth: 1, path_prefix: "/a/" }), below.sort());
      assert.deepEqual(await items({ depth: 1, path_prefix: "/c/d/" }), prefixes(["/c/d/e/"]));
      const page = accepted(await t.request("GET", `${path}?depth=1&path_prefix=/c/`));
      assert.deepEqual(page, {
        data: [{ type: "memory_prefix", path: "/c/d/" }],
        next_page: null,
      });
      for (const depth of ["2", "-1", "x"]) {
        const answer = await t.request("GET", `/v1/memory_stores/${id}/memories?depth=${depth}`);
        assertRefused(answer, { ...INVALID, says: /depth/ });
      }
    },
  ),

  scenario(
    "a prefix chooses memories by whole segments",
    {
      verifies: ["memories.list.path-prefix", "memories.list.path-prefix-form"],
      rows: [109],
    },
    async (t) => {
      const { path, items, memories } = await sharedStore(t);
      const inA = ["/a/1.md", "/a/b/2.md", "/a/b/3.md"];
      assert.deepEqual(await items({ path_prefix: "/a/" }), memories(inA).sort());
      assert.deepEqual(await items({ path_prefix: "/a/b/" }), memories(inA.slice(1)).sort());
      assert.deepEqual(await items({ path_prefix: "/A/" }), []);
      assert.deepEqual(await items({ path_prefix: "/a/1.md/" }), []);
      assert.equal((await items({ path_prefix: "/" })).length, PATHS.length);
      for (const prefix of ["/a", "a/", "/a//", "/a/../"]) {
        const answer = await t.request("GET", `${path}?path_prefix=${prefix}`);
        assertRefused(answer, { ...INVALID, says: /path_prefix/ });
      }
    },
  ),

  scenario(
    "folders count towards the limit of a page",
    { verifies: ["memories.list.limit"], rows: [109] },
    async (t) => {
      const { id, memories: _, ...rest } = await sharedStore(t);
      const { memories } = t.client.beta.memoryStores;
      for (const limit of [1, 2, 3]) {
        let page = await memories.list(id, { depth: 1, limit });
        const sizes = [page.data.length];
        while (page.hasNextPage()) {
          page = await page.getNextPage();
          sizes.push(page.data.length);
        }
        assert.ok(sizes.every((size) => size <= limit));
        assert.equal(
          sizes.reduce((sum, size) => sum + size),
          5,
        );
        assert.equal((await rest.items({ depth: 1, limit })).length, 5);
      }
    },
  ),

  scenario(
    "a page with contents has at most 20 memories, one without has up to the limit",
    { verifies: ["memories.list.full", "memories.list.basic"], rows: [109] },
    async (t) => {
      const { id, memories, create } = await newStore(t);
      for (let count = 0; count < 23; count += 1) await create(`/${count}`, `content ${count}`);
      const full = await memories.list(id, { view: "full", limit: 100 });
      assert.equal(full.data.length, 20);
      const rest = await full.getNextPage();
      assert.equal(rest.data.length, 3);
      assert.equal(rest.hasNextPage(), false);
      for (const item of [...full.data, ...rest.data]) {
        assert.ok(item.type === "memory");
        assert.equal(item.content, `content ${item.path.slice(1)}`);
      }
      const basic = await memories.list(id, { limit: 100 });
      assert.equal(basic.data.length, 23);
      assert.equal(basic.hasNextPage(), false);
      assert.ok(basic.data.every((item) => item.type === "memory" && item.content === null));
    },
  ),

  scenario(
    "every memory is on one page, while others are made",
    { verifies: ["memories.list.pages"], rows: [109] },
    async (t) => {
      const { id, memories, create } = await newStore(t);
      const paths = Array.from({ length: 20 }, (_, index) => `/m${String(index).padStart(2, "0")}`);
      for (const path of paths) await create(path);
      const seen: string[] = [];
      let page = await memories.list(id, { limit: 7 });
      for (let count = 0; ; count += 1) {
        seen.push(...page.data.map(({ path }) => path));
        await create(`/a-${count}`);
        await create(`/z-${count}`);
        if (!page.hasNextPage()) break;
        page = await page.getNextPage();
      }
      assert.equal(new Set(seen).size, seen.length);
      assert.deepEqual(seen.filter((path) => path.startsWith("/m")).sort(), paths);
    },
  ),
];
