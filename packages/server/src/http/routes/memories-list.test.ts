import { describe, expect, test } from "vitest";
import { fill, openMemories } from "./memories.testsuite.ts";

describe("a list of memories", () => {
  const PATHS = ["/a-b/x", "/a.md", "/a/1", "/a/b/2", "/a/b/3", "/a/c", "/a0", "/b/1", "/é"];

  test("is in the order of the paths' bytes, whole or of a folder", async () => {
    const { create, paths } = await openMemories();
    for (const path of PATHS.toReversed()) await create(path);
    expect(await paths({ limit: 2 })).toEqual(PATHS);
    expect(await paths({ depth: 0, path_prefix: "/" })).toEqual(PATHS);
    expect(await paths({ path_prefix: "/a/" })).toEqual(PATHS.slice(2, 6));
    expect(await paths({ path_prefix: "/a/b/", limit: 1 })).toEqual(["/a/b/2", "/a/b/3"]);
    expect(await paths({ path_prefix: "/none/" })).toEqual([]);
  });

  test.each([1, 2, 3, 100])("shows folders in place of what is below, %i a page", async (limit) => {
    const { create, paths } = await openMemories();
    for (const path of PATHS) await create(path);
    const top = ["/a-b/", "/a.md", "/a/", "/a0", "/b/", "/é"];
    expect(await paths({ depth: 1, limit })).toEqual(top);
    const below = ["/a/1", "/a/b/", "/a/c"];
    expect(await paths({ depth: 1, limit, path_prefix: "/a/" })).toEqual(below);
    const full = { depth: 1, limit, path_prefix: "/a/b/", view: "full" } as const;
    expect(await paths(full)).toEqual(["/a/b/2", "/a/b/3"]);
  });

  test("counts folders towards the limit", async () => {
    const { memories, storeId, create } = await openMemories();
    for (const path of PATHS) await create(path);
    const page = await memories.list(storeId, { depth: 1, limit: 3 });
    expect(page.data.map(({ type }) => type)).toEqual(["memory_prefix", "memory", "memory_prefix"]);
    expect(page.data[0]).toEqual({ type: "memory_prefix", path: "/a-b/" });
    expect(page.next_page).toEqual(expect.any(String));
  });

  test("shows each once while others come and go", async () => {
    const { memories, storeId, inStore, create } = await openMemories();
    const made = [];
    for (const path of PATHS) made.push(await create(path));
    const seen: string[] = [];
    let page = await memories.list(storeId, { depth: 1, limit: 1 });
    for (;;) {
      seen.push(...page.data.map(({ path }) => path));
      await create(`/0-before-${seen.length}`);
      await create(`/a/b/added-${seen.length}`);
      if (seen.length === 2) await memories.delete(made[1]?.id ?? "", inStore);
      if (!page.hasNextPage()) break;
      page = await page.getNextPage();
    }
    expect(seen).toEqual(["/a-b/", "/a.md", "/a/", "/a0", "/b/", "/é"]);
  });

  test("has at most 20 items a page with contents", async () => {
    const { world, memories, storeId } = await openMemories();
    await fill(world, storeId, 45);
    const sizes = async (query: object) => {
      const pages: number[] = [];
      for await (const page of (await memories.list(storeId, query)).iterPages()) {
        pages.push(page.data.length);
      }
      return pages;
    };
    expect(await sizes({ view: "full", limit: 1000 })).toEqual([20, 20, 5]);
    expect(await sizes({ view: "full", limit: 30, depth: 1 })).toEqual([20, 20, 5]);
    expect(await sizes({ view: "basic", limit: 30 })).toEqual([30, 15]);
  });

  test("goes on behind the longest path there can be", async () => {
    const { create, paths } = await openMemories();
    const long = [1, 2].map((end) => `/${'"'.repeat(1022)}${end}`);
    for (const path of long) await create(path);
    expect(await paths({ limit: 1 })).toEqual(long);
  });

  test.each(["depth=2", "depth=-1", "path_prefix=/a", "path_prefix=a/", "view=all", "order=asc"])(
    "is refused with %s",
    async (query) => {
      const { world, storeId } = await openMemories();
      const path = `/v1/memory_stores/${storeId}/memories?${query}`;
      const { status, body } = await world.request("GET", path);
      expect([status, body.error.message]).toEqual([
        400,
        expect.stringContaining(query.split("=")[0] ?? ""),
      ]);
    },
  );
});
