import { describe, expect, test } from "vitest";
import { StoreUnavailableError } from "../errors.ts";
import type { EventDraft } from "../session/log-event.ts";
import type { Announcement } from "./announcements.ts";
import type { SessionKey } from "./event-log.ts";
import type { Claim, NewSession } from "./sessions.ts";
import type { Store, StoreTransaction } from "./store.ts";

/** A store with nothing in it, and a say over its time. */
export interface TestStore extends AsyncDisposable {
  readonly store: Store;
  /** Milliseconds since 1970, to be set by the test. */
  readonly time: { now: number };
  /** What was announced, in order. */
  readonly heard: Announcement[];
}

export type OpenStore = () => Promise<TestStore>;

/** Where the tests' time begins. */
export const START = Date.parse("2026-01-02T03:04:05.678Z");

let lastId = 0;

export function uniqueId(kind: string): string {
  lastId += 1;
  return `${kind}_${process.pid}_${lastId}`;
}

export function newSession(changes: Partial<NewSession> = {}): NewSession {
  return {
    workspace_id: uniqueId("wrkspc"),
    id: uniqueId("sesn"),
    thread_id: uniqueId("sthr"),
    hand_id: uniqueId("hand"),
    status: "idle",
    title: "A session",
    metadata: { team: "blue" },
    environment_id: uniqueId("env"),
    agent: {
      id: uniqueId("agent"),
      name: "Agent",
      version: 1,
      system: "Be brief.",
      model: { id: "offline/echo" },
      tools: [{ type: "agent_toolset_20260401" }],
      description: null,
    },
    resources: [],
    vault_ids: [],
    budget: null,
    recipe: {
      provider: "bubblewrap",
      base: { type: "host" },
      mounts: [],
      network: { type: "none" },
    },
    totals: { usage: {}, stats: {} },
    created_at: new Date(START).toISOString(),
    ...changes,
  };
}

export function keyOf({ workspace_id, id }: NewSession): SessionKey {
  return { workspaceId: workspace_id, sessionId: id };
}

/** Stores a session and answers its key and thread. */
export async function insertSession(
  store: Store,
  changes: Partial<NewSession> = {},
): Promise<SessionKey & { threadId: string }> {
  const session = newSession(changes);
  await store.write((tx) => tx.sessions.insert(session));
  return { ...keyOf(session), threadId: session.thread_id };
}

/** Stores a session and takes its lease. */
export async function claimedSession(
  store: Store,
  holder = "holder",
): Promise<Claim & { threadId: string }> {
  const key = await insertSession(store);
  await store.write((tx) => tx.queue.wake(key));
  return { ...(await claimOne(store, holder)), threadId: key.threadId };
}

export async function claimOne(store: Store, holder = "holder"): Promise<Claim> {
  const [claim] = await store.write((tx) => tx.queue.claim({ holder, leaseMs: null, limit: 1 }));
  if (claim === undefined) throw new Error("nothing is due");
  return claim;
}

export type MessageDraft = Extract<EventDraft, { type: "user.message" }>;

export function message(text: string, threadId = "sthr_primary"): MessageDraft {
  return {
    id: uniqueId("sevt"),
    type: "user.message",
    thread_id: threadId,
    cross_posted: false,
    public: { content: [{ type: "text", text }] },
    private: {},
  };
}

export function running(threadId = "sthr_primary"): EventDraft {
  return {
    id: uniqueId("sevt"),
    type: "session.status_running",
    thread_id: threadId,
    cross_posted: false,
    public: {},
    private: {},
  };
}

export function all(store: Store, key: SessionKey) {
  return store.events.getEvents(key, { limit: 10_000 });
}

/** The contract of `Store.write` and what is announced, run by the test of every implementation. */
export function testStore(open: OpenStore): void {
  describe("Store", () => {
    test("stores nothing of a work that rejects, and rejects with its error", async () => {
      await using world = await open();
      const { store } = world;
      const session = newSession();
      const failure = new Error("changed its mind");
      const written = store.write(async (tx) => {
        await tx.sessions.insert(session);
        await tx.events.accept(keyOf(session), [message("hello")]);
        throw failure;
      });
      await expect(written).rejects.toBe(failure);
      expect(await store.sessions.find(keyOf(session))).toBeUndefined();
      expect(world.heard).toEqual([]);
    });

    test("keeps the order of writes that need not be on disk at once and those that must", async () => {
      await using world = await open();
      const { store } = world;
      const session = newSession();
      const sent = [
        store.writeUnsynced((tx) => tx.sessions.insert(session)),
        store.write((tx) => tx.events.accept(keyOf(session), [message("first")])),
        store.writeUnsynced((tx) => tx.events.accept(keyOf(session), [message("second")])),
      ];
      await Promise.all(sent);
      const late = store.writeUnsynced((tx) =>
        tx.events.accept(keyOf(session), [message("third")]),
      );
      await store.write((tx) => tx.events.accept(keyOf(session), [message("fourth")]));
      await late;
      const inbox = await store.events.getInbox(keyOf(session));
      expect(inbox.map((event) => event.public)).toEqual(
        ["first", "second", "third", "fourth"].map((text) => message(text).public),
      );
    });

    test("lets the neighbours of a failing work in the same commit succeed", async () => {
      await using world = await open();
      const { store } = world;
      const first = newSession();
      const second = newSession();
      const outcomes = await Promise.allSettled([
        store.write((tx) => tx.sessions.insert(first)),
        store.write(async (tx) => {
          await tx.sessions.insert(newSession());
          await tx.sessions.insert(first);
        }),
        store.write((tx) => tx.sessions.insert(second)),
      ]);
      expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
      expect(await store.sessions.find(keyOf(first))).toMatchObject({ id: first.id });
      expect(await store.sessions.find(keyOf(second))).toMatchObject({ id: second.id });
    });

    test("shows a work its own writes and those of works before it", async () => {
      await using world = await open();
      const { store } = world;
      const session = newSession();
      const key = keyOf(session);
      const [, seen] = await Promise.all([
        store.write((tx) => tx.sessions.insert(session)),
        store.write(async (tx) => {
          await tx.sessions.update(key, { title: "Changed" });
          return (await tx.sessions.find(key))?.title;
        }),
      ]);
      expect(seen).toBe("Changed");
    });

    test("fails a work that awaits something else, and goes on with the next", async () => {
      await using world = await open();
      const { store } = world;
      const lost = newSession();
      const kept = newSession();
      const outcomes = await Promise.allSettled([
        store.write(async (tx) => {
          await tx.sessions.insert(lost);
          await new Promise((resolve) => setTimeout(resolve, 60_000).unref());
        }),
        store.write((tx) => tx.sessions.insert(kept)),
      ]);
      expect(outcomes).toMatchObject([
        { status: "rejected", reason: { message: expect.stringContaining("awaited") } },
        { status: "fulfilled" },
      ]);
      expect(await store.sessions.find(keyOf(lost))).toBeUndefined();
      expect(await store.sessions.find(keyOf(kept))).toMatchObject({ id: kept.id });
    });

    test("refuses a transaction whose work has ended", async () => {
      await using world = await open();
      const leaked: StoreTransaction[] = [];
      await world.store.write(async (tx) => void leaked.push(tx));
      await expect(leaked[0]?.sessions.insert(newSession())).rejects.toThrow("ended");
    });

    test("gives a transaction one time", async () => {
      await using world = await open();
      const times = await world.store.write(async (tx) => {
        const before = tx.now;
        world.time.now += 1;
        return [before, tx.now];
      });
      expect(times).toEqual([new Date(START).toISOString(), new Date(START).toISOString()]);
    });

    test("announces each session once a commit, after it, with its last seq", async () => {
      await using world = await open();
      const { store } = world;
      const claim = await claimedSession(store);
      const { workspaceId, sessionId, epoch } = claim;
      const other = await insertSession(store);
      world.heard.length = 0;
      await Promise.all([
        store.write((tx) => tx.events.append({ ...claim, epoch, drafts: [running(), running()] })),
        store.write((tx) => tx.events.append({ ...claim, epoch, drafts: [running()] })),
        store.write((tx) => tx.events.accept(other, [message("hello")])),
      ]);
      expect(world.heard).toEqual([
        { type: "changed", workspaceId, sessionId, lastSeq: 3, due: false },
        { ...changed(other), lastSeq: 0, due: true },
      ]);
    });

    test("announces receipts, wake-ups and releases that are due as due", async () => {
      await using world = await open();
      const { store } = world;
      const claim = await claimedSession(store);
      world.heard.length = 0;
      await store.write((tx) => tx.events.appendReceipts(claim, [running()]));
      await store.write((tx) => tx.queue.wake(claim));
      await store.write((tx) => tx.queue.release({ ...claim, seenSeq: 1, wakeAt: tx.now }));
      expect(world.heard).toEqual(
        [1, 1, 1].map((lastSeq) => ({ ...changed(claim), lastSeq, due: true })),
      );
    });

    test("stores an answered request together with its effect or not at all", async () => {
      await using world = await open();
      const { store } = world;
      const key = await insertSession(store);
      const { workspaceId } = key;
      const answer = { request_key: "digest", attempt: 0, status: 200, body: "{}" };
      const post = (fails: boolean) =>
        store.write(async (tx) => {
          const earlier = await tx.answeredRequests.find(workspaceId, "digest", tx.now);
          if (earlier !== undefined) return earlier.body;
          await tx.events.accept(key, [message("hello")]);
          await tx.answeredRequests.put({
            ...answer,
            workspace_id: workspaceId,
            created_at: tx.now,
          });
          if (fails) throw new Error("the process would have died here");
          return "new";
        });
      await expect(post(true)).rejects.toThrow("died");
      expect(await Promise.all([post(false), post(false)])).toEqual(["new", "{}"]);
      expect(await post(false)).toBe("{}");
      expect(await store.events.getInbox(key)).toHaveLength(1);
    });

    test("refuses writes after it was closed, and finishes those before", async () => {
      const world = await open();
      const session = newSession();
      const written = world.store.write((tx) => tx.sessions.insert(session));
      const closed = world.store.close();
      await expect(written).resolves.toBeUndefined();
      await closed;
      await expect(world.store.write(async () => undefined)).rejects.toThrow("closed");
      await world[Symbol.asyncDispose]();
    });
  });
}

/**
 * The contract of a store that cannot write for a while. `breakWrites` makes the next writes fail as
 * a full disk does and answers how to end that.
 */
export function testStoreFailure(
  open: () => Promise<TestStore & { breakWrites(): Promise<() => Promise<void>> }>,
): void {
  describe("Store that cannot write", () => {
    test("says so, loses nothing, and works again by itself", async () => {
      await using world = await open();
      const { store } = world;
      const claim = await claimedSession(store);
      const append = () =>
        store.write((tx) => tx.events.append({ ...claim, drafts: [message("x".repeat(10_000))] }));
      await append();
      expect(store.failure()).toBeUndefined();
      const repair = await world.breakWrites();
      await expect(append()).rejects.toThrow(StoreUnavailableError);
      expect(store.failure()).toMatch(/\w+ .*\./);
      expect(await all(store, claim)).toHaveLength(1);
      await repair();
      await store.write(async () => undefined);
      expect(store.failure()).toBeUndefined();
      await append();
      expect((await all(store, claim)).map(({ seq }) => seq)).toEqual([1, 2]);
    });
  });
}

function changed({ workspaceId, sessionId }: SessionKey) {
  return { type: "changed", workspaceId, sessionId };
}
