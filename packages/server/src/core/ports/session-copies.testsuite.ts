import { describe, expect, test } from "vitest";
import { ConflictError } from "../errors.ts";
import type { LogEvent } from "../session/log-event.ts";
import type { NewSession } from "./sessions.ts";
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

const at = (ms: number): string => new Date(START + ms).toISOString();

/** The contract of `SessionCopies`, run by the test of every implementation. */
export function testSessionCopies(open: OpenStore): void {
  describe("SessionCopies", () => {
    testMaking(open);
    testRefusals(open);
    testDiscarding(open);
  });
}

function copied(count: number, epoch = 3): LogEvent[] {
  return Array.from({ length: count }, (_, index) => ({
    ...message(index === 0 ? "é".repeat(70_000) : `message ${index}`),
    seq: 0,
    v: 1,
    epoch,
    processed_at: at(index - 1_000_000),
  }));
}

function finished(session: NewSession, epoch = 3) {
  const checkpoint = { fold: 1, seq: 1, state: '{"a":1}' };
  return { ...session, updated_at: at(-5), archived_at: null, epoch, checkpoint };
}

function testMaking(open: OpenStore): void {
  test("makes a session with a log, as it is given, which nobody finds before its end", async () => {
    await using world = await open();
    const { store } = world;
    const session = newSession({ status: "idle" });
    const key = keyOf(session);
    const events = copied(5);
    await store.write((tx) => tx.copies.begin(session));
    await store.write((tx) => tx.copies.add(key, events.slice(0, 2)));
    await store.write((tx) => tx.copies.add(key, events.slice(2)));
    const page = { limit: 10, order: "asc" } as const;
    const seen = await store.sessions.find(key);
    expect(seen?.deleted_at).not.toBeNull();
    expect(await store.sessions.list(session.workspace_id, {}, page)).toEqual([]);
    expect(
      await store.write((tx) => tx.sessions.listUndisposed({ limit: 100 })),
    ).not.toContainEqual(expect.objectContaining({ sessionId: session.id }));
    await store.write((tx) => tx.sessions.delete(key));
    await store.write((tx) => tx.queue.wake(key));
    expect(await all(store, key)).toHaveLength(5);
    world.heard.length = 0;
    await store.write((tx) => tx.copies.finish(finished(session)));
    expect(world.heard).toMatchObject([{ sessionId: session.id, lastSeq: 5, due: false }]);
    expect(await store.sessions.find(key)).toEqual({
      ...session,
      updated_at: at(-5),
      archived_at: null,
      deleted_at: null,
      last_seq: 5,
      input_seq: null,
      input_at: null,
    });
    expect(await store.sessions.list(session.workspace_id, {}, page)).toHaveLength(1);
    expect(await store.sessions.findCheckpoint(key)).toEqual(finished(session).checkpoint);
    expect(await all(store, key)).toEqual(
      events.map((event, index) => ({ ...event, seq: index + 1 })),
    );
  });

  test("goes on like any other: later events, higher epochs, times that do not go back", async () => {
    await using world = await open();
    const { store } = world;
    const session = newSession();
    const key = keyOf(session);
    await store.write(async (tx) => {
      await tx.copies.begin(session);
      const [event] = copied(1, 7);
      if (event !== undefined) await tx.copies.add(key, [{ ...event, processed_at: at(60_000) }]);
      await tx.copies.finish(finished(session, 7));
      await tx.events.appendReceipts(key, [running()]);
    });
    const claim = await claimOne(store);
    expect(claim).toMatchObject({ ...key, epoch: 8 });
    await store.write((tx) => tx.events.append({ ...claim, drafts: [running()] }));
    const log = await all(store, key);
    expect(log.map(({ seq, epoch }) => [seq, epoch])).toEqual([
      [1, 7],
      [2, 0],
      [3, 8],
    ]);
    expect(log.map(({ processed_at }) => processed_at)).toEqual([
      at(60_000),
      at(60_000),
      at(60_000),
    ]);
  });

  test("keeps its references when it is finished", async () => {
    await using world = await open();
    const { store } = world;
    const sha256 = "c".repeat(64);
    const mount = {
      type: "file",
      mount_path: "/mnt/session/uploads/a",
      sha256,
      size_bytes: 1,
    } as const;
    const resources = [{ type: "memory_store", memory_store_id: uniqueId("memstore") }];
    const base = newSession({ resources });
    const session = { ...base, recipe: { ...base.recipe, mounts: [mount] } };
    const isReferenced = () =>
      store.write((tx) => tx.files.isReferenced(session.workspace_id, sha256));
    await store.write((tx) => tx.copies.begin(session));
    expect(await isReferenced()).toBe(false);
    const held = "d".repeat(64);
    for (const one of [sha256, held, held]) {
      await store.write((tx) => tx.copies.hold(keyOf(session), one));
    }
    expect(await isReferenced()).toBe(true);
    const isHeld = () => store.write((tx) => tx.files.isReferenced(session.workspace_id, held));
    expect(await isHeld()).toBe(true);
    await store.write((tx) => tx.copies.finish({ ...finished(session), archived_at: at(-4) }));
    expect(await isHeld()).toBe(false);
    const loose = await store.write((tx) => tx.looseBlobs.list(at(1_000_000), 1_000));
    expect(loose).toContainEqual(expect.objectContaining({ sha256: held }));
    expect(await isReferenced()).toBe(true);
    const filter = { memoryStoreId: String(resources[0]?.memory_store_id), includeArchived: true };
    const page = { limit: 10, order: "asc" } as const;
    expect(await store.sessions.list(session.workspace_id, filter, page)).toMatchObject([
      { id: session.id, archived_at: at(-4) },
    ]);
  });
}

function testRefusals(open: OpenStore): void {
  test("refuses an id that a session has or had, or another copy", async () => {
    await using world = await open();
    const { store } = world;
    const key = await insertSession(store);
    const session = newSession({ workspace_id: key.workspaceId, id: key.sessionId });
    const begin = (one: NewSession) => store.write((tx) => tx.copies.begin(one));
    await expect(begin(session)).rejects.toThrow(ConflictError);
    await store.write((tx) => tx.sessions.delete(key));
    await expect(begin(session)).rejects.toThrow(ConflictError);
    const other = newSession();
    await begin(other);
    await expect(begin(other)).rejects.toThrow(ConflictError);
    // Also to another workspace's: those who run calls know sessions by their ids alone.
    await expect(begin({ ...session, workspace_id: uniqueId("wrkspc") })).rejects.toThrow(
      ConflictError,
    );
    await begin({ ...session, id: uniqueId("sesn") });
  });

  test("refuses events whose ids are another's, in a log or an inbox, or come twice", async () => {
    await using world = await open();
    const { store } = world;
    const claim = await claimedSession(store);
    const [logged, waiting] = [message("in the log"), message("in the inbox")];
    await store.write((tx) => tx.events.append({ ...claim, drafts: [logged] }));
    await store.write((tx) => tx.events.accept(claim, [waiting]));
    const session = newSession({ workspace_id: claim.workspaceId });
    const key = keyOf(session);
    await store.write((tx) => tx.copies.begin(session));
    const [event] = copied(1);
    if (event === undefined) throw new Error("there is no event");
    const add = (...events: LogEvent[]) => store.write((tx) => tx.copies.add(key, events));
    for (const { id } of [logged, waiting]) {
      await expect(add({ ...event, id })).rejects.toThrow(id);
    }
    await expect(add(event, event)).rejects.toThrow(ConflictError);
    await add(event);
    await expect(add(event)).rejects.toThrow(ConflictError);
    expect(await all(store, key)).toHaveLength(1);
  });

  test("takes nothing for what is no copy, is finished, or is another workspace's", async () => {
    await using world = await open();
    const { store } = world;
    const session = newSession();
    const add = (one: NewSession) => store.write((tx) => tx.copies.add(keyOf(one), copied(1)));
    await expect(add(session)).rejects.toThrow(session.id);
    await store.write((tx) => tx.copies.begin(session));
    await expect(add({ ...session, workspace_id: uniqueId("wrkspc") })).rejects.toThrow(session.id);
    await add(session);
    await store.write((tx) => tx.copies.finish(finished(session)));
    await expect(add(session)).rejects.toThrow(session.id);
    await expect(store.write((tx) => tx.copies.finish(finished(session)))).rejects.toThrow(
      session.id,
    );
  });
}

function testDiscarding(open: OpenStore): void {
  test("finds what was left behind, and takes it away piece by piece, and nothing else", async () => {
    await using world = await open();
    const { store } = world;
    const [left, kept, made] = [newSession(), newSession(), newSession()];
    const [leftKey, madeKey] = [keyOf(left), keyOf(made)];
    await store.write((tx) => tx.copies.begin(left));
    await store.write((tx) => tx.copies.begin(kept));
    await store.write((tx) => tx.copies.add(leftKey, copied(5)));
    await store.write((tx) => tx.copies.begin(made));
    await store.write((tx) => tx.copies.add(madeKey, copied(2)));
    await store.write((tx) => tx.copies.finish(finished(made)));
    world.time.now += 1_000;
    await store.write((tx) => tx.copies.add(keyOf(kept), copied(1)));
    const abandoned = await store.write((tx) => tx.copies.listAbandoned(at(500), 1_000));
    expect(abandoned).toContainEqual(leftKey);
    expect(abandoned).not.toContainEqual(keyOf(kept));
    expect(abandoned).not.toContainEqual(madeKey);
    const sha256 = "e".repeat(64);
    await store.write((tx) => tx.copies.hold(leftKey, sha256));
    const discard = (key: typeof leftKey) => store.write((tx) => tx.copies.discard(key, 3));
    expect([await discard(leftKey), await discard(leftKey)]).toEqual([false, true]);
    expect(await store.write((tx) => tx.files.isReferenced(leftKey.workspaceId, sha256))).toBe(
      false,
    );
    expect(await store.sessions.find(leftKey)).toBeUndefined();
    expect(await all(store, leftKey)).toEqual([]);
    expect(await discard(madeKey)).toBe(true);
    expect(await all(store, madeKey)).toHaveLength(2);
    await store.write((tx) => tx.copies.begin(left));
  });
}
