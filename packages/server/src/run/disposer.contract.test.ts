import { answer, text } from "@drover/testing";
import { expect, onTestFinished, test } from "vitest";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { Hands } from "../core/ports/hands.ts";
import { ManualClock } from "../hands/fake/manual-clock.ts";
import type { FailPoint } from "../lib/fail-point.ts";
import { createBrainWorld, TWO_TOOLS } from "../testing/brain.ts";
import { HandDisposer } from "./disposer.ts";

async function brainWorld(script = TWO_TOOLS) {
  const brain = await createBrainWorld({ script, tools: { "*": () => "done" } });
  onTestFinished(() => brain[Symbol.asyncDispose]());
  const { store } = brain;
  return {
    ...brain,
    /** A session that had its turn and is deleted; nothing has been disposed of. */
    deletedSession: async () => {
      const key = await brain.newSession();
      await brain.send(key, "hello");
      await brain.run();
      const handId = (await store.sessions.find(key))?.hand_id ?? "";
      await store.write((tx) => tx.sessions.delete(key));
      return { ...key, handId };
    },
    undisposed: async () => {
      const hands = await store.write((tx) => tx.sessions.listUndisposed({ limit: 100 }));
      return hands.map(({ sessionId }) => sessionId);
    },
  };
}

type World = Awaited<ReturnType<typeof brainWorld>>;

function disposer(world: World, changes: Partial<World["deps"]> = {}): HandDisposer {
  const clock = new ManualClock();
  const made = new HandDisposer({ ...world.deps, clock, ...changes });
  onTestFinished(() => made.close());
  return made;
}

function only(dispose: Hands["dispose"], hands: Hands): Hands {
  return {
    locate: (...given) => hands.locate(...given),
    execute: (...given) => hands.execute(...given),
    cancel: (...given) => hands.cancel(...given),
    settle: (...given) => hands.settle(...given),
    recover: (...given) => hands.recover(...given),
    settleOutputs: (...given) => hands.settleOutputs(...given),
    dispose,
  };
}

test("a process killed between the deletion and the disposal: the next start disposes", async () => {
  const world = await brainWorld();
  const deleted = await world.deletedSession();
  world.hands.kill();
  disposer(world).start();
  await expect.poll(world.undisposed).toEqual([]);
  expect(world.hands.disposedHands).toEqual([deleted.handId]);
});

test("a process killed right after the disposal: the next start disposes again", async () => {
  const world = await brainWorld();
  const deleted = await world.deletedSession();
  const passed: FailPoint[] = [];
  const dead = new HandDisposer({
    ...world.deps,
    failPoint: (name) => void passed.push(name),
    store: {
      ...world.store,
      // The second write would say that it is done.
      write: (work) => (passed.length > 0 ? new Promise(() => {}) : world.store.write(work)),
    },
  });
  dead.start();
  await expect.poll(() => passed).toEqual(["serve.dispose.before", "serve.dispose.after"]);
  disposer(world).start();
  await expect.poll(world.undisposed).toEqual([]);
  expect(world.hands.disposedHands).toEqual([deleted.handId, deleted.handId]);
});

test("deleting a session that never used a tool starts no hands", async () => {
  const world = await brainWorld(() => answer(text("hi")));
  const running = disposer(world);
  running.start();
  await world.deletedSession();
  running.wake();
  expect(await world.undisposed()).toEqual([]);
  await running.close();
  expect([world.hands.boot, world.hands.disposedHands]).toEqual([undefined, []]);
});

test("a deletion wakes it", async () => {
  const world = await brainWorld();
  const running = disposer(world);
  running.start();
  const deleted = await world.deletedSession();
  running.wake();
  await expect.poll(world.undisposed).toEqual([]);
  expect(world.hands.disposedHands).toEqual([deleted.handId]);
});

test("hands that cannot be had are asked again, later each time", async () => {
  const world = await brainWorld();
  await world.deletedSession();
  world.hands.goAway();
  const clock = new ManualClock();
  const tries: number[] = [];
  const hands = only(async (handId) => {
    tries.push(clock.now());
    return await world.hands.dispose(handId);
  }, world.hands);
  disposer(world, { hands, clock }).start();
  for (const [index, pauseMs] of [1_000, 2_000, 4_000].entries()) {
    await expect.poll(() => [tries.length, clock.sleepers]).toEqual([index + 1, 1]);
    await clock.advance(pauseMs - 1);
    expect(tries).toHaveLength(index + 1);
    if (index === 2) world.hands.comeBack();
    await clock.advance(1);
  }
  await expect.poll(world.undisposed).toEqual([]);
  expect(tries).toHaveLength(4);
});

test("a hand that never can be disposed of keeps no other waiting", async () => {
  const world = await brainWorld();
  const deleted = [];
  for (let index = 0; index < 20; index += 1) deleted.push(await world.deletedSession());
  const stuck = deleted.slice(0, 9);
  const isStuck = (id: string) => stuck.some(({ handId }) => handId === id);
  const hands = only(async (handId) => {
    if (handId === stuck[1]?.handId) throw new Error("a bug");
    return !isStuck(handId) && (await world.hands.dispose(handId));
  }, world.hands);
  const clock = new ManualClock();
  disposer(world, { hands, clock }).start();
  const idsOf = (keys: readonly SessionKey[]) => keys.map(({ sessionId }) => sessionId);
  // Eight at a time: the first batch fails as a whole, as if nobody answered.
  await expect.poll(() => clock.sleepers).toBe(1);
  expect(await world.undisposed()).toEqual(idsOf(deleted));
  await clock.advance(1_000);
  await expect.poll(world.undisposed).toEqual(idsOf(stuck));
});

test("a store that fails is asked again", async () => {
  const world = await brainWorld();
  await world.deletedSession();
  const clock = new ManualClock();
  let failures = 2;
  const store: World["store"] = {
    ...world.store,
    write: async (work) => {
      failures -= 1;
      if (failures >= 0) throw new Error("no");
      return await world.store.write(work);
    },
  };
  disposer(world, { store, clock }).start();
  await expect.poll(() => clock.sleepers).toBe(1);
  await clock.advance(1_000);
  await expect.poll(() => [failures, clock.sleepers]).toEqual([0, 1]);
  await clock.advance(2_000);
  await expect.poll(world.undisposed).toEqual([]);
});

test("ends when what is under way has ended, and begins nothing more", async () => {
  const world = await brainWorld();
  for (let index = 0; index < 9; index += 1) await world.deletedSession();
  const end = Promise.withResolvers<boolean>();
  let asked = 0;
  const hands = only(() => {
    asked += 1;
    return end.promise;
  }, world.hands);
  const running = disposer(world, { hands });
  running.start();
  await expect.poll(() => asked).toBe(8);
  const closed = running.close();
  end.resolve(true);
  await closed;
  expect([asked, await world.undisposed()]).toEqual([8, [expect.any(String)]]);
});
