import { createTestDatabase } from "@drover/testing";
import { expect, onTestFinished, test } from "vitest";
import { StoreUnavailableError } from "../../core/errors.ts";
import {
  all,
  claimedSession,
  insertSession,
  keyOf,
  message,
  newSession,
  running,
} from "../../core/ports/store.testsuite.ts";
import { openCuttingProxy } from "./cutting-proxy.testsuite.ts";
import { PostgresEngine } from "./postgres-engine.ts";
import { openPostgresStore } from "./postgres-store.ts";

/** The command alone, as it is sent: `begin` sets something of that name. */
const COMMIT = "commit\0";

async function openWorld() {
  const database = await createTestDatabase();
  const proxy = await openCuttingProxy(database.url);
  const log: string[] = [];
  const store = await openPostgresStore({
    url: proxy.url,
    clock: { now: () => Date.now(), sleepUntil: async () => undefined },
    announcements: { publish: () => undefined },
    onFailure: () => log.push("failure"),
    onRecovery: () => log.push("recovery"),
  });
  onTestFinished(async () => {
    await store.close();
    await proxy[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
  });
  return { store, proxy, log, url: database.url };
}

test("knows what became of a commit whose answer was lost", async () => {
  const { store, proxy, log } = await openWorld();
  const claim = await claimedSession(store);
  const append = (text: string) =>
    store.write((tx) => tx.events.append({ ...claim, drafts: [message(text)] }));
  proxy.cutAt(COMMIT, "after");
  const [event] = await append("its answer was lost");
  expect(event?.seq).toBe(1);
  proxy.cutAt(COMMIT, "before");
  await expect(append("it never came to the server")).rejects.toThrow(StoreUnavailableError);
  await append("as usual");
  expect(proxy.cuts()).toBe(2);
  const texts = (await all(store, claim)).map((each) => JSON.stringify(each.public));
  expect(texts.map((text) => /"text":"([^"]+)"/.exec(text)?.[1])).toEqual([
    "its answer was lost",
    "as usual",
  ]);
  expect(log).toEqual(["failure", "recovery"]);
});

test("stores nothing of a group whose connection is lost in the middle, and says so", async () => {
  const { store, proxy } = await openWorld();
  const session = newSession();
  proxy.cutAt("session_definitions", "before");
  const outcomes = await Promise.allSettled([
    store.write(async () => undefined),
    store.write((tx) => tx.sessions.insert(session)),
  ]);
  expect(proxy.cuts()).toBe(1);
  for (const outcome of outcomes) {
    expect(outcome).toMatchObject({ reason: expect.any(StoreUnavailableError) });
  }
  expect(await store.sessions.find(keyOf(session))).toBeUndefined();
  await store.write((tx) => tx.sessions.insert(session));
});

test("nobody notices that idle connections were cut", async () => {
  const { store, proxy, log } = await openWorld();
  const key = await insertSession(store);
  for (let round = 0; round < 3; round += 1) {
    await Promise.all([store.sessions.find(key), store.sessions.find(key)]);
    proxy.cutAll();
    const [found] = await Promise.all([
      store.sessions.find(key),
      store.write((tx) => tx.queue.wake(key)),
    ]);
    expect(found).toMatchObject({ id: key.sessionId });
  }
  expect(log).toEqual([]);
});

test("says once that the server is away and once that it is back", async () => {
  const { store, proxy, log } = await openWorld();
  const key = await insertSession(store);
  await proxy.close();
  const wake = () => store.write((tx) => tx.queue.wake(key));
  await expect(wake()).rejects.toThrow(StoreUnavailableError);
  await expect(wake()).rejects.toThrow(StoreUnavailableError);
  await expect(store.sessions.find(key)).rejects.toThrow(StoreUnavailableError);
  expect(store.failure()).toMatch(/^The PostgreSQL server cannot be reached: .*\.$/);
  await proxy.reopen();
  await wake();
  expect(store.failure()).toBeUndefined();
  expect(log).toEqual(["failure", "recovery"]);
});

test("a server that stands still in the middle of a write is cut off, and holds nobody up", async () => {
  const { store, url } = await openWorld();
  const clock = { now: () => Date.now(), sleepUntil: async () => undefined };
  const frozen = new PostgresEngine(url, clock, true);
  await frozen.begin(true);
  // It waits for the lock that the frozen one has.
  await store.write(async () => undefined);
  await expect(frozen.commit()).rejects.toThrow(/still|terminat/);
  await frozen.close();
});

test("two servers write as if one wrote after the other", async () => {
  await using database = await createTestDatabase();
  const open = () =>
    openPostgresStore({
      url: database.url,
      clock: { now: () => Date.now(), sleepUntil: async () => undefined },
      announcements: { publish: () => undefined },
    });
  const stores = await Promise.all([open(), open()]);
  const [first, second] = stores;
  const key = await insertSession(first);
  // Each reads and writes back what it read: an update is lost if another comes in between.
  const count = (store: typeof first) =>
    store.write(async (tx) => {
      const session = await tx.sessions.find(key);
      const visits = String(Number(session?.metadata["visits"] ?? "0") + 1);
      await tx.sessions.update(key, { metadata: { visits } });
    });
  await Promise.all(Array.from({ length: 60 }, (_, index) => count(index % 2 ? first : second)));
  expect((await first.sessions.find(key))?.metadata).toEqual({ visits: "60" });

  const lost = await claimedSession(first, "first");
  await second.write((tx) => tx.queue.takeOver("second"));
  await second.write((tx) => tx.queue.claim({ holder: "second", leaseMs: null, limit: 1 }));
  await expect(
    first.write((tx) => tx.events.append({ ...lost, drafts: [running()] })),
  ).rejects.toThrow("no longer held");
  await Promise.all(stores.map((store) => store.close()));
});
