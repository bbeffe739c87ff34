import { describe, expect, test } from "vitest";
import type { EventDraft } from "../session/log-event.ts";
import type { FileMount } from "./hands.ts";
import type {
  PagePosition,
  PageRequest,
  SessionListFilter,
  SessionPatch,
  SessionRecord,
  UndisposedHand,
} from "./sessions.ts";
import {
  all,
  claimedSession,
  claimOne,
  insertSession,
  keyOf,
  message,
  newSession,
  type OpenStore,
  running,
  START,
  uniqueId,
} from "./store.testsuite.ts";
import type { Store } from "./store.ts";

const at = (ms: number): string => new Date(START + ms).toISOString();

/** The contract of `SessionReader` and `SessionWriter`, run by the test of every implementation. */
export function testSessions(open: OpenStore): void {
  describe("Sessions", () => {
    testRecords(open);
    testTokens(open);
    testLists(open);
    testStreams(open);
    testHands(open);
  });
}

function testRecords(open: OpenStore): void {
  test("gives a session back as it was inserted", async () => {
    await using world = await open();
    const session = newSession();
    await world.store.write((tx) => tx.sessions.insert(session));
    const record: SessionRecord = {
      ...session,
      updated_at: session.created_at,
      archived_at: null,
      deleted_at: null,
      last_seq: 0,
      input_seq: null,
      input_at: null,
    };
    expect(await world.store.sessions.find(keyOf(session))).toEqual(record);
    expect(await world.store.write((tx) => tx.sessions.lock(keyOf(session)))).toEqual(record);
    expect(await world.store.sessions.findCheckpoint(keyOf(session))).toBeUndefined();
  });

  test("changes what a patch names and nothing else", async () => {
    await using world = await open();
    const session = newSession();
    const key = keyOf(session);
    await world.store.write((tx) => tx.sessions.insert(session));
    const before = await world.store.sessions.find(key);
    const recipe = { ...session.recipe, mounts: [mountOf("a".repeat(64))] };
    const patch = {
      title: null,
      metadata: {},
      agent: { ...session.agent, version: 4, system: "Be long." },
      resources: [{ type: "file", id: "sesrsc_1" }],
      recipe,
      updated_at: at(5),
    };
    await world.store.write((tx) => tx.sessions.update(key, patch));
    expect(await world.store.sessions.find(key)).toEqual({ ...before, ...patch });
    const archived = { status: "terminated", archived_at: at(6) } as const;
    await world.store.write((tx) => tx.sessions.update(key, archived));
    expect(await world.store.sessions.find(key)).toEqual({ ...before, ...patch, ...archived });
    await world.store.write((tx) => tx.sessions.update(key, { archived_at: null }));
    expect(await world.store.sessions.find(key)).toMatchObject({ archived_at: null });
  });

  test("keeps a budget until it is replaced or removed, and shows it in lists", async () => {
    await using world = await open();
    const limit = (amount: string) => {
      return { type: "limit", max_list_cost: { amount, currency: "USD" } } as const;
    };
    const session = newSession({ budget: limit("999999999999999") });
    const key = keyOf(session);
    await world.store.write((tx) => tx.sessions.insert(session));
    const shown = async () => {
      const page = { limit: 10, order: "asc" } as const;
      const [listed] = await world.store.sessions.list(session.workspace_id, {}, page);
      const found = await world.store.sessions.find(key);
      expect(listed?.budget).toEqual(found?.budget);
      return found?.budget;
    };
    const patched = async (patch: SessionPatch) => {
      await world.store.write((tx) => tx.sessions.update(key, patch));
      return await shown();
    };
    expect(await shown()).toEqual(limit("999999999999999"));
    expect(await patched({ title: "other" })).toEqual(limit("999999999999999"));
    expect(await patched({ budget: limit("1") })).toEqual(limit("1"));
    expect(await patched({ budget: null })).toBeNull();
    expect(await patched({ title: null })).toBeNull();
  });

  test("leaves nothing of a deleted session but a tombstone", async () => {
    await using world = await open();
    const { store } = world;
    const claim = await claimedSession(store);
    const drafts = [message("secret"), message("y".repeat(100_000))];
    const checkpoint = { fold: 1, seq: 2, state: "{}" };
    await store.write((tx) => tx.events.append({ ...claim, drafts, checkpoint }));
    await store.write((tx) => tx.events.accept(claim, [message("later")]));
    const before = await store.sessions.find(claim);
    world.time.now += 7;
    world.heard.length = 0;
    await store.write((tx) => tx.sessions.delete(claim));
    expect(await store.sessions.find(claim)).toEqual({
      ...before,
      title: null,
      metadata: {},
      agent: expect.objectContaining({ id: before?.agent.id, system: null, tools: [] }),
      resources: [],
      vault_ids: [],
      input_seq: null,
      input_at: null,
      deleted_at: at(7),
    });
    expect(await all(store, claim)).toEqual([]);
    expect(await store.events.getInbox(claim)).toEqual([]);
    expect(await store.sessions.findCheckpoint(claim)).toBeUndefined();
    expect(await listAll(store, claim.workspaceId, 10)).toEqual([]);
    const { workspaceId, sessionId } = claim;
    expect(world.heard).toEqual([
      { type: "changed", workspaceId, sessionId, lastSeq: 2, due: false },
    ]);
    await store.write((tx) => tx.sessions.delete(claim));
    const late = store.write((tx) => tx.events.appendReceipts(claim, [running()]));
    await expect(late).rejects.toThrow(sessionId);
  });
}

function testTokens(open: OpenStore): void {
  test("keeps a repository's token apart from the session, until that is deleted", async () => {
    await using world = await open();
    const { store } = world;
    const [key, other] = [await insertSession(store), await insertSession(store)];
    const find = (id: string) => store.sessions.findRepositoryToken(key, id);
    const put = (id: string, sealed: string) =>
      store.write((tx) => tx.sessions.putRepositoryToken(key, id, sealed));
    await put("sesrsc_1", "one");
    await put("sesrsc_2", "two");
    await put("sesrsc_1", "one again");
    expect([await find("sesrsc_1"), await find("sesrsc_2")]).toEqual(["one again", "two"]);
    expect(await find("sesrsc_3")).toBeUndefined();
    expect(await store.sessions.findRepositoryToken(other, "sesrsc_1")).toBeUndefined();
    const elsewhere = { ...key, workspaceId: other.workspaceId };
    expect(await store.sessions.findRepositoryToken(elsewhere, "sesrsc_1")).toBeUndefined();
    await store.write((tx) => tx.sessions.delete(key));
    expect(await find("sesrsc_1")).toBeUndefined();
    await put("sesrsc_1", "too late");
    expect(await find("sesrsc_1")).toBeUndefined();
  });
}

function testLists(open: OpenStore): void {
  test("shows a thousand sessions of one instant exactly once, in pages of 7, either way", async () => {
    await using world = await open();
    const { store } = world;
    const workspace_id = uniqueId("wrkspc");
    const ids = Array.from({ length: 1000 }, () => uniqueId("sesn"));
    await store.write(async (tx) => {
      for (const id of ids) await tx.sessions.insert(newSession({ workspace_id, id }));
    });
    await insertSession(store);
    const ascending = await listAll(store, workspace_id, 7, "asc");
    expect(ascending).toEqual(ids.toSorted());
    expect(await listAll(store, workspace_id, 7, "desc")).toEqual(ascending.toReversed());
  });

  test("lists by agent, version, status, time and archival", async () => {
    await using world = await open();
    const { store } = world;
    const workspace_id = uniqueId("wrkspc");
    const agent = newSession().agent;
    const sessions = [
      newSession({ workspace_id, agent, created_at: at(0) }),
      newSession({ workspace_id, agent: { ...agent, version: 2 }, created_at: at(10) }),
      newSession({ workspace_id, status: "running", created_at: at(20) }),
      newSession({ workspace_id, created_at: at(30) }),
    ];
    await store.write(async (tx) => {
      for (const session of sessions) await tx.sessions.insert(session);
      const last = sessions[3] ?? newSession();
      await tx.sessions.update(keyOf(last), { archived_at: at(40) });
    });
    const list = async (filter: SessionListFilter) => {
      const page = { limit: 10, order: "asc" } as const;
      const found = await store.sessions.list(workspace_id, filter, page);
      return found.map(({ id }) => sessions.findIndex((session) => session.id === id));
    };
    expect(await list({})).toEqual([0, 1, 2]);
    expect(await list({ includeArchived: true })).toEqual([0, 1, 2, 3]);
    expect(await list({ agentId: agent.id })).toEqual([0, 1]);
    expect(await list({ agentId: agent.id, agentVersion: 2 })).toEqual([1]);
    expect(await list({ statuses: ["running", "terminated"] })).toEqual([2]);
    expect(await list({ createdAt: { gt: at(0), lt: at(20) } })).toEqual([1]);
    expect(await list({ createdAt: { gte: at(10), lte: at(20) } })).toEqual([1, 2]);
  });

  test("lists by several statuses in one order, archived ones among them", async () => {
    await using world = await open();
    const { store } = world;
    const workspace_id = uniqueId("wrkspc");
    const statuses = [
      "idle",
      "running",
      "terminated",
      "terminated",
      "rescheduling",
      "idle",
    ] as const;
    const sessions = statuses.map((status, index) =>
      newSession({ workspace_id, status, created_at: at(index) }),
    );
    await store.write(async (tx) => {
      for (const session of sessions) await tx.sessions.insert(session);
      const archived = sessions[3] ?? newSession();
      await tx.sessions.update(keyOf(archived), { archived_at: at(40) });
    });
    const list = async (filter: SessionListFilter, page: Partial<PageRequest> = {}) => {
      const found = await store.sessions.list(workspace_id, filter, {
        limit: 10,
        order: "asc",
        ...page,
      });
      return found.map(({ id }) => sessions.findIndex((session) => session.id === id));
    };
    const some = { statuses: ["terminated", "idle", "running"] } as const;
    expect(await list(some)).toEqual([0, 1, 2, 5]);
    expect(await list({ ...some, includeArchived: true })).toEqual([0, 1, 2, 3, 5]);
    expect(await list({ ...some, includeArchived: true }, { order: "desc", limit: 3 })).toEqual([
      5, 3, 2,
    ]);
    const [first, , third] = sessions;
    const after = { created_at: at(2), id: third?.id ?? "" };
    expect(await list({ ...some, includeArchived: true }, { after })).toEqual([3, 5]);
    expect(await list({ includeArchived: true }, { order: "desc", after })).toEqual([1, 0]);
    expect(await list({ statuses: ["idle", "idle"] }, { limit: 1 })).toEqual([0]);
    expect(await list({ statuses: [] })).toEqual([]);
    const agentId = first?.agent.id ?? "";
    expect(await list({ ...some, agentId })).toEqual([0]);
  });

  test("lists by memory store, until the session is deleted", async () => {
    await using world = await open();
    const { store } = world;
    const workspace_id = uniqueId("wrkspc");
    const attached = (...ids: string[]) =>
      ids.map((memory_store_id) => ({ type: "memory_store", memory_store_id }));
    const sessions = [
      newSession({ workspace_id, resources: attached("memstore_1"), created_at: at(0) }),
      newSession({ workspace_id, created_at: at(1) }),
      newSession({ workspace_id, resources: attached("memstore_2"), created_at: at(2) }),
      newSession({
        workspace_id,
        resources: attached("memstore_2", "memstore_1"),
        status: "running",
        created_at: at(3),
      }),
      newSession({ workspace_id, resources: attached("memstore_1"), created_at: at(4) }),
    ];
    await store.write(async (tx) => {
      for (const session of sessions) await tx.sessions.insert(session);
      const last = sessions[4] ?? newSession();
      await tx.sessions.update(keyOf(last), { status: "terminated", archived_at: at(40) });
    });
    const list = async (filter: SessionListFilter, page: Partial<PageRequest> = {}) => {
      const one = { memoryStoreId: "memstore_1", ...filter };
      const request = { limit: 10, order: "asc", ...page } as const;
      const found = await store.sessions.list(workspace_id, one, request);
      return found.map(({ id }) => sessions.findIndex((session) => session.id === id));
    };
    expect(await list({})).toEqual([0, 3]);
    expect(await list({ includeArchived: true })).toEqual([0, 3, 4]);
    expect(await list({ includeArchived: true }, { order: "desc", limit: 2 })).toEqual([4, 3]);
    const after = { created_at: at(0), id: sessions[0]?.id ?? "" };
    expect(await list({ includeArchived: true }, { after })).toEqual([3, 4]);
    expect(await list({ statuses: ["running"] })).toEqual([3]);
    expect(await list({ statuses: ["running", "idle"] })).toEqual([0, 3]);
    expect(await list({ createdAt: { gt: at(0), lte: at(4) } })).toEqual([3]);
    expect(await list({ memoryStoreId: "memstore_2" })).toEqual([2, 3]);
    expect(await list({ memoryStoreId: "memstore_3" })).toEqual([]);
    await store.write((tx) => tx.sessions.delete(keyOf(sessions[3] ?? newSession())));
    expect(await list({ includeArchived: true })).toEqual([0, 4]);
  });
}

function testStreams(open: OpenStore): void {
  test("starts a late stream at the newest input, once, and only if that is recent", async () => {
    await using world = await open();
    const { store } = world;
    const claim = await claimedSession(store);
    const attach = () => store.write((tx) => tx.sessions.attachStream(claim, 60_000));
    expect(await attach()).toBeUndefined();
    await store.write((tx) => tx.events.append({ ...claim, drafts: [running(), running()] }));
    await store.write((tx) => tx.events.accept(claim, [message("hello")]));
    await store.write((tx) => tx.events.append({ ...claim, drafts: [running()] }));
    expect(await store.sessions.find(claim)).toMatchObject({ input_seq: 2, input_at: at(0) });
    world.time.now += 60_000;
    expect(await attach()).toBe(2);
    expect(await attach()).toBeUndefined();
    await store.write((tx) => tx.events.accept(claim, [message("again")]));
    world.time.now += 60_001;
    expect(await attach()).toBeUndefined();
  });

  test("starts no stream at input that an open one has seen, and one at newer input", async () => {
    await using world = await open();
    const { store } = world;
    const key = await insertSession(store);
    const attach = () => store.write((tx) => tx.sessions.attachStream(key, 60_000));
    const attend = (until: string) => store.write((tx) => tx.sessions.attendInput(key, until));
    await store.write((tx) => tx.events.accept(key, [message("hello")]));
    await attend(at(0));
    expect(await attach()).toBeUndefined();
    world.time.now += 1;
    await store.write((tx) => tx.events.accept(key, [message("again")]));
    await attend(at(0));
    expect(await attach()).toBe(0);
  });

  test("counts what a client posts as a receipt as input too, and what the server does not", async () => {
    await using world = await open();
    const { store } = world;
    const key = await insertSession(store);
    const attach = () => store.write((tx) => tx.sessions.attachStream(key, 60_000));
    await store.write((tx) => tx.events.appendReceipts(key, [running()]));
    expect(await attach()).toBeUndefined();
    await store.write((tx) => tx.queue.wake(key));
    await claimOne(store);
    const confirmation: EventDraft = {
      ...running(),
      type: "user.tool_confirmation",
      public: { tool_use_id: "sevt_1", result: "allow" },
      private: {},
    };
    await store.write((tx) => tx.events.appendReceipts(key, [confirmation]));
    expect(await attach()).toBe(1);
  });
}

function testHands(open: OpenStore): void {
  test("keeps what hands are to be disposed of, the longest deleted first, until they are", async () => {
    await using world = await open();
    const { store } = world;
    const used = async () => {
      const claim = await claimedSession(store);
      await store.write((tx) => tx.events.append({ ...claim, drafts: [callStarted()] }));
      return claim;
    };
    const [living, first, second, third] = [await used(), await used(), await used(), await used()];
    const unused = await insertSession(store);
    for (const key of [second, unused, third, first]) {
      await store.write((tx) => tx.sessions.delete(key));
      world.time.now += 1;
    }
    const page = { limit: 2 };
    const [one, two] = await store.write((tx) => tx.sessions.listUndisposed(page));
    const { workspaceId, sessionId } = second;
    const handId = (await store.sessions.find(second))?.hand_id;
    expect(one).toEqual({ workspaceId, sessionId, handId, deletedAt: at(0) });
    expect(two).toMatchObject({ sessionId: third.sessionId, deletedAt: at(2) });
    const list = (after?: UndisposedHand) =>
      store.write(async (tx) => {
        const hands = await tx.sessions.listUndisposed({ ...page, ...(after && { after }) });
        return hands.map((hand) => hand.sessionId);
      });
    expect(await list(two)).toEqual([first.sessionId]);
    await store.write(async (tx) => {
      for (const key of [second, second, living]) await tx.sessions.setDisposed(key);
    });
    expect(await list()).toEqual([third.sessionId, first.sessionId]);
    await store.write((tx) => tx.sessions.delete(living));
    expect(await list(two)).toEqual([first.sessionId, living.sessionId]);
  });
}

function callStarted(): EventDraft {
  return {
    ...running(),
    type: "drover.call_started",
    public: {},
    private: { call_id: uniqueId("sevt"), hand_id: "hand_1", hands_boot: "boot_1" },
  };
}

async function listAll(
  store: Store,
  workspaceId: string,
  limit: number,
  order: "asc" | "desc" = "asc",
): Promise<readonly string[]> {
  const ids: string[] = [];
  let after: PagePosition | undefined;
  for (;;) {
    const page = { limit, order, ...(after && { after }) };
    const sessions = await store.sessions.list(workspaceId, {}, page);
    const last = sessions.at(-1);
    if (last === undefined) return ids;
    ids.push(...sessions.map(({ id }) => id));
    after = { created_at: last.created_at, id: last.id };
  }
}

export function mountOf(sha256: string): FileMount {
  return { type: "file", mount_path: "/mnt/session/uploads/a", sha256, size_bytes: 1 };
}
