import { createTestDatabase } from "@drover/testing";
import { expect, onTestFinished, test } from "vitest";
import { claimOne, insertSession } from "../../core/ports/store.testsuite.ts";
import { openCuttingProxy } from "./cutting-proxy.testsuite.ts";
import { PostgresAnnouncements } from "./postgres-announcements.ts";
import { openPostgresStore } from "./postgres-store.ts";

test("the leases of a server whose connection is gone are ended, and those of others stay", async () => {
  await using database = await createTestDatabase();
  await using proxy = await openCuttingProxy(database.url);
  const announcementsOf = async (url: string, holder: string) => {
    const opened = await PostgresAnnouncements.open({ url, holder, onError: () => undefined });
    onTestFinished(() => opened.close());
    return opened;
  };
  await announcementsOf(proxy.url, "gone");
  await announcementsOf(database.url, "living");
  const store = await openPostgresStore({
    url: database.url,
    clock: { now: () => Date.now(), sleepUntil: async () => undefined },
    announcements: { publish: () => undefined },
  });
  const takeOverLost = () => store.write((tx) => tx.queue.takeOverLost("third"));
  const keys = [await insertSession(store), await insertSession(store)];
  for (const [index, key] of keys.entries()) {
    await store.write((tx) => tx.queue.wake(key));
    await claimOne(store, index === 0 ? "gone" : "living");
  }
  const claimAll = () =>
    store.write((tx) => tx.queue.claim({ holder: "third", leaseMs: null, limit: 10 }));
  await takeOverLost();
  expect(await claimAll()).toEqual([]);
  await proxy.close();
  await expect
    .poll(async () => {
      await takeOverLost();
      return (await claimAll()).map(({ sessionId }) => sessionId);
    })
    .toEqual([keys[0]?.sessionId]);
  await takeOverLost();
  expect(await claimAll()).toEqual([]);
  await store.close();
});
