import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { newFile } from "../core/ports/records.testsuite.ts";
import {
  message,
  newSession,
  type OpenStore,
  START,
  uniqueId,
} from "../core/ports/store.testsuite.ts";
import type { StoreTransaction } from "../core/ports/store.ts";
import { type Body, openWorld, type World } from "./world.testsuite.ts";

/** Rows of each list, all of the same millisecond. */
const ROWS = 1_000;
const LIMIT = 7;
/** Pages between two rows that are added while somebody pages through. */
const PAGES_BETWEEN = 20;
const TIME = new Date(START).toISOString();

/** A list with something in it. */
interface Filled {
  /** With the query of the list, if it has one. */
  readonly path: string;
  /** Puts in the row with this number; the ids of rows are in no order. */
  readonly insert: (tx: StoreTransaction, number: number) => Promise<unknown>;
  /** As the list shows the row's id. */
  readonly idOf: (number: number) => string;
}

type Item = Body & { readonly path: string; readonly version: number };

interface List {
  readonly name: string;
  readonly open: (world: World) => Promise<Filled>;
  /** What an item of the list is known by; its id unless told. */
  readonly keyOf?: (item: Item) => string;
}

/** Ids by number: always the same for a list, and in no order. */
function idFor(prefix: string): (number: number) => string {
  const salt = uniqueId(prefix);
  return (number) =>
    `${prefix}_${createHash("sha256").update(`${salt} ${number}`).digest("hex").slice(0, 22)}`;
}

const LISTS: readonly List[] = [
  {
    name: "agents",
    open: async (world) => {
      const { body } = await world.request("POST", "/v1/agents", { name: "a", model: "m" });
      const template = await world.store.agents.find(world.workspaceId, body.id);
      if (template === undefined) throw new Error("there is no agent");
      const idOf = idFor("agent");
      const insert = (tx: StoreTransaction, number: number) =>
        tx.agents.put({ ...template, id: idOf(number) });
      await world.store.write((tx) => tx.agents.archive(world.workspaceId, body.id, TIME));
      return { path: "/v1/agents", insert, idOf };
    },
  },
  {
    name: "versions of an agent",
    open: async (world) => {
      const { body } = await world.request("POST", "/v1/agents", { name: "a", model: "m" });
      const template = await world.store.agents.find(world.workspaceId, body.id);
      if (template === undefined) throw new Error("there is no agent");
      return {
        path: `/v1/agents/${body.id}/versions`,
        // The first one is there.
        insert: async (tx, number) =>
          number === 0 ? undefined : tx.agents.put({ ...template, version: number + 1 }),
        idOf: (number) => String(number + 1),
      };
    },
    keyOf: ({ version }) => String(version),
  },
  {
    name: "environments",
    open: async (world) => {
      const { body } = await world.request("POST", "/v1/environments", { name: "e" });
      const template = await world.store.environments.find(world.workspaceId, body.id);
      if (template === undefined) throw new Error("there is no environment");
      await world.store.write((tx) => tx.environments.delete(world.workspaceId, body.id));
      const idOf = idFor("env");
      return {
        path: "/v1/environments",
        insert: (tx, number) =>
          tx.environments.insert({ ...template, id: idOf(number), name: `e${number}` }),
        idOf,
      };
    },
  },
  { name: "sessions", open: (world) => openSessions(world, "desc") },
  { name: "sessions, the oldest first", open: (world) => openSessions(world, "asc") },
  { name: "events", open: (world) => openEvents(world, "asc") },
  { name: "events, the newest first", open: (world) => openEvents(world, "desc") },
  { name: "input that waits", open: (world) => openInbox(world, "asc") },
  { name: "input that waits, the newest first", open: (world) => openInbox(world, "desc") },
  {
    name: "events of a thread",
    open: async (world) => {
      const session = newSession({ workspace_id: world.workspaceId });
      await world.store.write((tx) => tx.sessions.insert(session));
      const { id, thread_id } = session;
      return {
        ...eventsOf(world, session),
        path: `/v1/sessions/${id}/threads/${thread_id}/events`,
      };
    },
  },
  {
    name: "resources of a session",
    open: async (world) => {
      const session = newSession({ workspace_id: world.workspaceId });
      await world.store.write((tx) => tx.sessions.insert(session));
      const key = { workspaceId: world.workspaceId, sessionId: session.id };
      const idOf = idFor("sesrsc");
      const resources: Record<string, unknown>[] = [];
      return {
        path: `/v1/sessions/${session.id}/resources`,
        insert: async (tx, number) => {
          resources.push({
            ...{ id: idOf(number), type: "file", file_id: "file_1", mount_path: `/${number}` },
            ...{ created_at: TIME, updated_at: TIME },
          });
          // They are one value of the session's: written with every eighth, and with each that is added.
          const isWritten = number % (LIMIT + 1) === LIMIT || number >= ROWS;
          if (isWritten) await tx.sessions.update(key, { resources });
        },
        idOf,
      };
    },
  },
  {
    name: "files",
    open: async ({ workspaceId }) => {
      const idOf = idFor("file");
      return {
        path: "/v1/files",
        insert: (tx, number) =>
          tx.files.insert(newFile({ workspace_id: workspaceId, id: idOf(number) })),
        idOf,
      };
    },
  },
  {
    name: "vaults",
    open: async ({ workspaceId }) => {
      const idOf = idFor("vlt");
      return {
        path: "/v1/vaults",
        insert: (tx, number) =>
          tx.vaults.insert({
            ...{ workspace_id: workspaceId, id: idOf(number), display_name: "v", metadata: {} },
            ...{ created_at: TIME, updated_at: TIME, archived_at: null },
          }),
        idOf,
      };
    },
  },
  {
    name: "credentials",
    open: async (world) => {
      const vault = await world.request("POST", "/v1/vaults", { display_name: "v" });
      const path = `/v1/vaults/${vault.body.id}/credentials`;
      const auth = { type: "static_bearer", mcp_server_url: "https://a.test", token: "secret" };
      const { body } = await world.request("POST", path, { auth });
      const { workspaceId, store } = world;
      const template = await store.credentials.find(workspaceId, vault.body.id, body.id);
      if (template === undefined) throw new Error("there is no credential");
      await store.write((tx) => tx.credentials.delete(workspaceId, body.id));
      const idOf = idFor("vcrd");
      return {
        path,
        insert: (tx, number) => {
          const row = { ...template, id: idOf(number), auth_key: `key ${number}` };
          return tx.credentials.insert(row, "sealed");
        },
        idOf,
      };
    },
  },
  {
    name: "memory stores",
    open: async ({ workspaceId }) => {
      const idOf = idFor("memstore");
      return {
        path: "/v1/memory_stores",
        insert: (tx, number) =>
          tx.memoryStores.insert({
            ...{ workspace_id: workspaceId, id: idOf(number), name: "n", description: "" },
            ...{ metadata: {}, created_at: TIME, updated_at: TIME, archived_at: null },
          }),
        idOf,
      };
    },
  },
  { name: "memories", open: (world) => openMemories(world, (name) => `/${name}`, "") },
  {
    name: "folders of memories",
    open: (world) => openMemories(world, (name) => `/${name}/${name}`, "?depth=1"),
    keyOf: ({ path }) => path.slice(1, -1),
  },
  {
    name: "versions of memories",
    open: async (world) => {
      const { path, ...rest } = await openMemories(world, (name) => `/${name}`, "");
      const versionIdOf = (number: number) => rest.idOf(number).replace("mem_", "memver_");
      return { ...rest, path: path.replace("/memories", "/memory_versions"), idOf: versionIdOf };
    },
  },
];

async function openSessions({ workspaceId }: World, order: string): Promise<Filled> {
  const idOf = idFor("sesn");
  return {
    path: `/v1/sessions?order=${order}`,
    insert: (tx, number) =>
      tx.sessions.insert(newSession({ workspace_id: workspaceId, id: idOf(number) })),
    idOf,
  };
}

async function openEvents(world: World, order: string): Promise<Filled> {
  const session = newSession({ workspace_id: world.workspaceId });
  await world.store.write((tx) => tx.sessions.insert(session));
  return { ...eventsOf(world, session), path: `/v1/sessions/${session.id}/events?order=${order}` };
}

function eventsOf({ workspaceId }: World, session: { id: string; thread_id: string }) {
  const key = { workspaceId, sessionId: session.id };
  const idOf = idFor("sevt");
  return {
    insert: (tx: StoreTransaction, number: number) =>
      tx.events.appendReceipts(key, [{ ...message("m", session.thread_id), id: idOf(number) }]),
    idOf,
  };
}

async function openInbox(world: World, order: string): Promise<Filled> {
  const session = newSession({ workspace_id: world.workspaceId });
  await world.store.write((tx) => tx.sessions.insert(session));
  const key = { workspaceId: world.workspaceId, sessionId: session.id };
  const idOf = idFor("sevt");
  return {
    path: `/v1/sessions/${session.id}/events?order=${order}`,
    insert: (tx, number) =>
      tx.events.accept(key, [{ ...message("m", session.thread_id), id: idOf(number) }]),
    idOf,
  };
}

async function openMemories(
  world: World,
  pathOf: (name: string) => string,
  query: string,
): Promise<Filled> {
  const { body } = await world.request("POST", "/v1/memory_stores", { name: "n" });
  const idOf = idFor("mem");
  const insert = (tx: StoreTransaction, number: number) => {
    const id = idOf(number);
    const memory = {
      ...{ workspace_id: world.workspaceId, memory_store_id: body.id, id, path: pathOf(id) },
      ...{ memory_version_id: id.replace("mem_", "memver_"), content: "text" },
      ...{ content_sha256: "a".repeat(64), content_size_bytes: 4 },
      ...{ created_at: TIME, updated_at: TIME },
    };
    return tx.memoryStores.insertMemory(memory, { type: "api_actor", api_key_id: "apikey_1" });
  };
  return { path: `/v1/memory_stores/${body.id}/memories${query}`, insert, idOf };
}

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
