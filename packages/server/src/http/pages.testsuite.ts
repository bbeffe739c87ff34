import { describe, expect, test } from "vitest";
import { type OpenStore, START } from "../core/ports/store.testsuite.ts";
import { type Filled, type Item, LISTS, openSessions } from "./pages-lists.testsuite.ts";
import { type Body, openWorld, type World } from "./world.testsuite.ts";

/** Rows of each list, all of the same millisecond. */
const ROWS = 1_000;
const LIMIT = 7;
/** Pages between two rows that are added while somebody pages through. */
const PAGES_BETWEEN = 20;

/** Every list of the API, by its pages, on the store that is opened. */
export function testPages(open: OpenStore): void {
  describe.each(LISTS)("$name", ({ open: openList, keyOf = ({ id }: Item) => id }) => {
    test("are on one page each, full pages but the last, while others are added", async () => {
      await using world = await openOn(open);
      const list = await openList(world);
      await fill(world, list, ROWS);
      const seen: string[] = [];
      let added = ROWS;
      for await (const { data, next_page } of pagesOf(world, list)) {
        seen.push(...data.map((item) => keyOf(item as Item)));
        if (next_page === null) break;
        expect(data).toHaveLength(LIMIT);
        if (seen.length % (LIMIT * PAGES_BETWEEN) > 0) continue;
        const number = added;
        await world.store.write((tx) => list.insert(tx, number));
        added += 1;
      }
      expect(added).toBeGreaterThan(ROWS + 5);
      expect(new Set(seen).size).toBe(seen.length);
      const shown = new Set(seen);
      const there = new Set(numbers(added).map(list.idOf));
      expect(
        numbers(ROWS)
          .map(list.idOf)
          .filter((id) => !shown.has(id)),
      ).toEqual([]);
      expect(seen.filter((id) => !there.has(id))).toEqual([]);
    });
  });

  test.each(["desc", "asc"])(
    "sessions are paged back as they were paged through, %s",
    async (order) => {
      await using world = await openOn(open);
      const list = await openSessions(world, order);
      await fill(world, list, 100);
      const pages: Body[] = [];
      for await (const body of pagesOf(world, list)) pages.push(body);
      expect(pages.flatMap(({ data }) => data)).toHaveLength(100);
      let { prev_page } = pages.pop() ?? {};
      for (const { data } of pages.toReversed()) {
        const body: Body = await page(world, list.path, prev_page);
        expect(body.data).toEqual(data);
        expect(body.next_page).not.toBeNull();
        prev_page = body.prev_page;
      }
      expect([pages[0]?.prev_page, prev_page]).toEqual([null, null]);
    },
  );

  test("a cursor opens its own list, and no other", async () => {
    await using world = await openOn(open);
    const paths: string[] = [];
    const cursors: (string | null)[] = [];
    for (const { open: openList } of LISTS) {
      const list = await openList(world);
      await fill(world, list, LIMIT + 1);
      paths.push(list.path);
      cursors.push((await page(world, list.path)).next_page);
    }
    const stranger = await world.addKey("admin");
    for (const [index, path] of paths.entries()) {
      await page(world, path, cursors[index]);
      const foreign = await ask(world, path, cursors.at(index - 1));
      const says = expect.stringMatching(/^page: /);
      expect([path, foreign.status, foreign.body.error?.message]).toEqual([path, 400, says]);
      const headers = { authorization: `Bearer ${stranger.key}` };
      const elsewhere = await ask(world, path, cursors[index], headers);
      expect([400, 404], path).toContain(elsewhere.status);
    }
  });

  test.each(["sessions", "events", "input that waits"])(
    "the order of a list is bound into its cursors: %s",
    async (name) => {
      await using world = await openOn(open);
      const list = await LISTS.find((each) => each.name === name)?.open(world);
      if (list === undefined) throw new Error(`there is no list of ${name}`);
      await fill(world, list, LIMIT + 1);
      const [path = ""] = list.path.split("?");
      for (const [order, other] of [
        ["asc", "desc"],
        ["desc", "asc"],
      ]) {
        const { next_page } = await page(world, `${path}?order=${order}`);
        const { status, body } = await ask(world, `${path}?order=${other}`, next_page);
        const says = expect.stringMatching(/^page: .*order/);
        expect([status, body.error.message]).toEqual([400, says]);
        await page(world, `${path}?order=${order}`, next_page);
      }
    },
  );
}

/** The API on an engine's store. */
async function openOn(open: OpenStore): Promise<World & AsyncDisposable> {
  const engine = await open();
  // The store is closed with the engine's world, which may have to be empty again before.
  const store = { ...engine.store, close: async () => undefined };
  const world = await openWorld({ openStore: () => store, now: () => START });
  return { ...world, [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose]() };
}

async function fill({ store }: World, list: Filled, count: number): Promise<void> {
  await store.write(async (tx) => {
    for (const number of numbers(count)) await list.insert(tx, number);
  });
}

async function* pagesOf(world: World, { path }: Filled): AsyncGenerator<Body> {
  let body = await page(world, path);
  yield body;
  while (body.next_page !== null) {
    body = await page(world, path, body.next_page);
    yield body;
  }
}

async function page(world: World, path: string, cursor?: string | null): Promise<Body> {
  const { status, body } = await ask(world, path, cursor);
  expect([path, status, body.error]).toEqual([path, 200, undefined]);
  return body;
}

function ask(
  world: World,
  path: string,
  cursor: string | null = null,
  headers: Readonly<Record<string, string>> = {},
) {
  const query = `limit=${LIMIT}${cursor === null ? "" : `&page=${cursor}`}`;
  const address = `${path}${path.includes("?") ? "&" : "?"}${query}`;
  return world.request("GET", address, undefined, headers);
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, number) => number);
}
