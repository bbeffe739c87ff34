import { describe, expect, test } from "vitest";
import { InvalidRequestError } from "../core/errors.ts";
import type { PageRequest } from "../core/ports/sessions.ts";
import { type CursorScope, createCursors, readPage } from "./pagination.ts";

const cursors = createCursors({ key: new Uint8Array(32).fill(7) });
const scope: CursorScope = { workspaceId: "w", list: "agents", order: "desc" };

interface Row {
  created_at: string;
  id: string;
}

/** Seven rows, of which the 3rd to 5th were made in the same millisecond. */
const rows: Row[] = [1, 2, 3, 3, 3, 4, 5].map((second, i) => ({
  created_at: `2026-01-01T00:00:0${second}.000Z`,
  id: `r${i}`,
}));

function key(row: Row): string {
  return `${row.created_at} ${row.id}`;
}

async function read({ limit, order, after }: PageRequest): Promise<Row[]> {
  const sorted = order === "asc" ? rows : rows.toReversed();
  const rest = sorted.filter((row) => {
    if (after === undefined) return true;
    return order === "asc" ? key(row) > key(after) : key(row) < key(after);
  });
  return rest.slice(0, limit);
}

function page(query: { limit?: number; page?: string }, order: "asc" | "desc" = "desc") {
  return readPage({
    cursors,
    scope: { ...scope, order },
    query,
    read,
    present: (row: Row) => row.id,
  });
}

describe("pages", () => {
  test.each(["asc", "desc"] as const)("visit every row once, %s", async (order) => {
    for (const limit of [1, 2, 3, 6, 7, 8]) {
      const seen: string[] = [];
      let next: string | null | undefined;
      do {
        const got = await page({ limit, ...(next ? { page: next } : {}) }, order);
        expect(got.data.length).toBeGreaterThan(0);
        seen.push(...got.data);
        next = got.next_page;
      } while (next !== null);
      const expected = rows.map((row) => row.id);
      expect(seen).toEqual(order === "asc" ? expected : expected.toReversed());
    }
  });

  test("prev_page leads back to the page before, and is null on the first", async () => {
    const first = await page({ limit: 2 });
    const second = await page({ limit: 2, page: first.next_page ?? "" });
    const third = await page({ limit: 2, page: second.next_page ?? "" });
    expect([first.data, second.data, third.data]).toEqual([
      ["r6", "r5"],
      ["r4", "r3"],
      ["r2", "r1"],
    ]);
    expect(first.prev_page).toBeNull();
    const back = await page({ limit: 2, page: third.prev_page ?? "" });
    expect(back.data).toEqual(second.data);
    const home = await page({ limit: 2, page: back.prev_page ?? "" });
    expect(home).toEqual({ data: first.data, prev_page: null, next_page: expect.any(String) });
    const forth = await page({ limit: 2, page: home.next_page ?? "" });
    expect(forth.data).toEqual(second.data);
  });

  test("a cursor outside the created_at filter is refused", async () => {
    const { next_page } = await page({ limit: 2 });
    const narrowed = readPage({
      cursors,
      scope,
      query: { page: next_page ?? "" },
      createdAt: { lt: "2026-01-01T00:00:02.000Z" },
      read,
      present: (row: Row) => row.id,
    });
    await expect(narrowed).rejects.toThrow("page: the cursor lies outside the created_at filter");
  });
});

describe("a cursor opens only where it was sealed", () => {
  const sealed = cursors.seal(scope, { direction: "after", position: ["t", "id"] });
  const last = sealed.at(-1) === "A" ? "B" : "A";

  test("in its own scope", () => {
    expect(cursors.open(scope, sealed)).toEqual({ direction: "after", position: ["t", "id"] });
  });

  test.each<[string, Partial<CursorScope>, string]>([
    ["another workspace", { workspaceId: "w2" }, sealed],
    ["another list", { list: "environments" }, sealed],
    ["tampered at the start", {}, `x${sealed.slice(1)}`],
    ["tampered at the end", {}, `${sealed.slice(0, -2)}${last}${sealed.at(-1)}`],
    ["cut", {}, sealed.slice(0, 10)],
    ["a letter too many", {}, `${sealed}x`],
    ["padded", {}, `${sealed}=`],
    ["empty", {}, ""],
    ["no base64", {}, "%%%"],
  ])("%s", (_, other, text) => {
    expect(() => cursors.open({ ...scope, ...other }, text)).toThrow(
      new InvalidRequestError("page: not a cursor of this list"),
    );
  });

  test("another order", () => {
    expect(() => cursors.open({ ...scope, order: "asc" }, sealed)).toThrow(
      "page: the cursor belongs to order=desc",
    );
  });

  test("another installation's key", () => {
    const others = createCursors({ key: new Uint8Array(32).fill(8) });
    expect(() => others.open(scope, sealed)).toThrow("page: not a cursor of this list");
  });
});
