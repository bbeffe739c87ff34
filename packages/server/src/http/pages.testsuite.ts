import { OPERATIONS } from "@drover/api";
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
      expect(
        numbers(ROWS)
          .map(list.idOf)
          .filter((id) => !shown.has(id)),
      ).toEqual([]);
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
        const body: Body = await page(world, list, prev_page);
        expect(body.data).toEqual(data);
        expect(body.next_page).not.toBeNull();
        prev_page = body.prev_page;
      }
      expect([pages[0]?.prev_page, prev_page]).toEqual([null, null]);
    },
  );

  test("a cursor opens its own list, and no other", async () => {
    await using world = await openOn(open);
    const lists: { list: Filled; cursor: string | null }[] = [];
    for (const { open: openList } of LISTS) {
      const list = await openList(world);
      await fill(world, list, LIMIT + 1);
      lists.push({ list, cursor: (await page(world, list)).next_page });
    }
    const stranger = await world.addKey("admin");
    for (const [index, { list, cursor }] of lists.entries()) {
      await page(world, list, cursor);
      const foreign = await ask(world, list, lists.at(index - 1)?.cursor);
      const says = expect.stringMatching(/^page: /);
      expect([list.path, foreign.status, foreign.body.error?.message]).toEqual([
        ...[list.path, 400, says],
      ]);
      const elsewhere = await ask(world, { ...list, key: stranger.key }, cursor);
      expect([400, 404], list.path).toContain(elsewhere.status);
    }
    const tested = lists.map(({ list }) => list.path.replace(/\?.*/, ""));
    const untested = OPERATIONS.filter(({ path, answer }) => {
      const pattern = new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`);
      return answer?.kind === "list" && !tested.some((each) => pattern.test(each));
    });
    // A session has one thread; models are no rows, and have a test of their own.
    expect(untested.map(({ id }) => id)).toEqual(["sessions.threads.list", "models.list"]);
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
        const inOrder = { ...list, path: `${path}?order=${order}` };
        const { next_page } = await page(world, inOrder);
        const reversed = { ...list, path: `${path}?order=${other}` };
        const { status, body } = await ask(world, reversed, next_page);
        const says = expect.stringMatching(/^page: .*order/);
        expect([status, body.error.message]).toEqual([400, says]);
        await page(world, inOrder, next_page);
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

async function* pagesOf(world: World, list: Filled): AsyncGenerator<Body> {
  let body = await page(world, list);
  yield body;
  while (body.next_page !== null) {
    body = await page(world, list, body.next_page);
    yield body;
  }
}

async function page(world: World, list: Filled, cursor?: string | null): Promise<Body> {
  const { status, body } = await ask(world, list, cursor);
  expect([list.path, status, body.error]).toEqual([list.path, 200, undefined]);
  return body;
}

function ask(world: World, { path, key = world.key }: Filled, cursor?: string | null) {
  const query = `limit=${LIMIT}${cursor == null ? "" : `&page=${cursor}`}`;
  const address = `${path}${path.includes("?") ? "&" : "?"}${query}`;
  return world.request("GET", address, undefined, { authorization: `Bearer ${key}` });
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, number) => number);
}
