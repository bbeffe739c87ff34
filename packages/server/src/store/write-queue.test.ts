import { expect, test } from "vitest";
import { StoreUnavailableError } from "../core/errors.ts";
import { insertSession } from "../core/ports/store.testsuite.ts";
import { type MemoryStore, openMemoryStore } from "./sqlite/memory-store.testsuite.ts";

function openStore(): MemoryStore {
  return openMemoryStore({
    clock: { now: () => 0, sleepUntil: async () => undefined },
    announcements: { publish: () => undefined },
  });
}

test("refuses works when too many wait, and runs those that do in order", async () => {
  const store = openStore();
  const order: number[] = [];
  const writes = Array.from({ length: 20_001 }, (_, index) =>
    store.write(async () => void order.push(index)),
  );
  await expect(writes.pop()).rejects.toThrow(StoreUnavailableError);
  await Promise.all(writes);
  expect(order).toEqual(Array.from({ length: 20_000 }, (_, index) => index));
  await store.write(async () => undefined);
});

test("lets other things happen between two groups, however many works wait", async () => {
  const store = openStore();
  let ended = 0;
  const endedAtLooks: number[] = [];
  const work = async () => {
    ended += 1;
  };
  const writes = Array.from({ length: 5_000 }, () => store.write(work));
  while (ended < 5_000) {
    await new Promise((resolve) => setImmediate(resolve));
    endedAtLooks.push(ended);
  }
  await Promise.all(writes);
  expect(endedAtLooks.filter((count) => count > 0 && count < 5_000)).not.toEqual([]);
});

test("says why writing fails until it works again", async () => {
  const store = openStore();
  const key = await insertSession(store);
  const wake = () => store.write((tx) => tx.queue.wake(key));
  store.failWrites("The disk is full, as the test wants it.");
  const outcomes = await Promise.allSettled([wake(), wake()]);
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(store.failure()).toBe("The disk is full, as the test wants it.");
  store.failWrites(undefined);
  await wake();
  expect(store.failure()).toBeUndefined();
});
