import { answer, text } from "@drover/testing";
import { expect, test } from "vitest";
import type { StoreTransaction } from "../core/ports/store.ts";
import { ManualClock } from "../hands/fake/manual-clock.ts";
import { systemClock } from "../lib/system-clock.ts";
import { createBrainWorld } from "../testing/brain.ts";
import { Scheduler } from "./scheduler.ts";

const OPTIONS = {
  holder: "holder_1",
  leaseMs: null,
  ownsStore: () => true,
  sessionsMax: 2,
  failureDelayMs: 1,
};

test("drives more sessions than it may drive at once, one after another", async () => {
  await using brain = await createBrainWorld({
    script: [answer(text("hi"))],
    tools: {},
    clock: systemClock,
  });
  const keys = [];
  for (let index = 0; index < 5; index++) keys.push(await brain.newSession());
  const scheduler = new Scheduler(brain.deps, OPTIONS);
  scheduler.start();
  for (const key of keys) await brain.send(key, "hello");
  for (const key of keys) await brain.idle(key);
  await scheduler.close();
  for (const key of keys) {
    const last = (await brain.log(key)).at(-1);
    expect(last?.type).toBe("session.status_idle");
  }
});

test("leaves a session whose drive failed for a while, and drives it when there is input", async () => {
  await using brain = await createBrainWorld({
    script: [answer(text("hi"))],
    tools: {},
    clock: systemClock,
  });
  let isBroken = true;
  const sessions = {
    ...brain.store.sessions,
    findCheckpoint: async (key: Parameters<typeof brain.store.sessions.findCheckpoint>[0]) => {
      if (isBroken) throw new Error("unreadable");
      return await brain.store.sessions.findCheckpoint(key);
    },
  };
  const deps = { ...brain.deps, store: { ...brain.store, sessions } };
  const scheduler = new Scheduler(deps, OPTIONS);
  const key = await brain.newSession();
  scheduler.start();
  await brain.send(key, "hello");
  await brain.idle(key);
  isBroken = false;
  await brain.send(key, "and now?");
  await brain.until(key, (log) => log.some((event) => event.type === "agent.message"));
  await brain.idle(key);
  await scheduler.close();
  const errors = (await brain.log(key)).filter((event) => event.type === "session.error");
  expect(errors).toHaveLength(1);
});

test("claims nothing once another process may own the store", async () => {
  await using brain = await createBrainWorld({
    script: [answer(text("hi"))],
    tools: {},
    clock: systemClock,
  });
  const key = await brain.newSession();
  await brain.send(key, "hello");
  const asked = Promise.withResolvers<void>();
  const ownsStore = () => {
    asked.resolve();
    return false;
  };
  const scheduler = new Scheduler(brain.deps, { ...OPTIONS, ownsStore });
  scheduler.start();
  await asked.promise;
  await scheduler.close();
  expect(await brain.log(key)).toEqual([]);
});

test("renews its leases, and stops driving a session that another process has", async () => {
  const begun = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<void>();
  // A clock of the test's own: this process may stand still for longer than any lease that a test could wait for.
  const clock = new ManualClock();
  await using brain = await createBrainWorld({ script: [answer(text("hi"))], tools: {}, clock });
  const model: typeof brain.deps.model = {
    respond: (_request, _sink, signal) => {
      begun.resolve();
      // It never answers, and ends only when nobody wants the answer any more.
      return new Promise((_, reject) => {
        signal.addEventListener("abort", () => {
          aborted.resolve();
          reject(signal.reason);
        });
      });
    },
  };
  const leaseMs = 15_000;
  const scheduler = new Scheduler({ ...brain.deps, model }, { ...OPTIONS, leaseMs });
  const key = await brain.newSession();
  scheduler.start();
  await brain.send(key, "hello");
  await begun.promise;
  const claim = () =>
    brain.store.write((tx) => tx.queue.claim({ holder: "other", leaseMs: null, limit: 1 }));
  const leaseEnd = () => brain.store.write((tx) => tx.queue.nextDue());
  // Past the end of the lease that it was claimed with.
  for (let third = 0; third < 6; third += 1) {
    await clock.advance(leaseMs / 3);
    await expect.poll(leaseEnd).toBe(new Date(clock.now() + leaseMs).toISOString());
    expect(await claim()).toEqual([]);
  }
  await brain.store.write((tx) => tx.queue.takeOver("other"));
  expect(await claim()).toHaveLength(1);
  await clock.advance(leaseMs / 3);
  await aborted.promise;
  await scheduler.close();
});

test("looks again when the next session becomes due", async () => {
  const awaited: number[] = [];
  const clock = {
    ...systemClock,
    sleepUntil: (atMs: number, signal: AbortSignal) => {
      awaited.push(atMs);
      return systemClock.sleepUntil(atMs, signal);
    },
  };
  await using brain = await createBrainWorld({ script: [answer(text("hi"))], tools: {}, clock });
  const key = await brain.newSession();
  await brain.send(key, "hello");
  // Held by a process that is gone, and that nobody announces when it ends.
  const due = await brain.store.write(async (tx) => {
    await tx.queue.claim({ holder: "gone", leaseMs: 300, limit: 1 });
    return await tx.queue.nextDue();
  });
  const scheduler = new Scheduler(brain.deps, OPTIONS);
  scheduler.start();
  await brain.idle(key);
  await scheduler.close();
  expect(awaited).toContain(Date.parse(due ?? ""));
});

test("rests while nothing is due", async () => {
  await using brain = await createBrainWorld({
    script: [answer(text("hi"))],
    tools: {},
    clock: systemClock,
  });
  let writes = 0;
  const store = {
    ...brain.store,
    write: <T>(work: (tx: StoreTransaction) => Promise<T>) => {
      writes += 1;
      return brain.store.write(work);
    },
  };
  const scheduler = new Scheduler({ ...brain.deps, store }, OPTIONS);
  scheduler.start();
  const key = await brain.newSession();
  await brain.send(key, "hello");
  await brain.idle(key);
  // A loop that does not rest would go round with every turn of this one.
  for (let turn = 0; turn < 200; turn++) await brain.store.write(async () => undefined);
  await scheduler.close();
  expect(writes).toBeLessThan(20);
});
