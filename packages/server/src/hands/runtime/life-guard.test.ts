import { expect, test } from "vitest";
import { ManualClock } from "../fake/manual-clock.ts";
import { guardLife } from "./life-guard.ts";

const EVERY_MS = 1_000;
const QUIET_MS = 10_000;

test("lets hands live that are found and were spoken to", async () => {
  const world = open();
  for (let look = 0; look < 50; look += 1) {
    world.state.quietSinceMs = world.clock.now();
    await world.clock.advance(EVERY_MS);
  }
  expect(world.state.looks).toBe(50);
  world.end.abort();
  expect(await world.guarding).toBeUndefined();
});

test("ends hands that nobody spoke to for long", async () => {
  const world = open();
  for (let look = 0; look < 10; look += 1) await world.clock.advance(EVERY_MS);
  expect(await world.guarding).toBe("no server has spoken for 10 s");
  expect(world.state.looks).toBe(9);
});

test("ends hands whose lock is not theirs any more", async () => {
  const world = open();
  world.state.isLockHeld = false;
  await world.clock.advance(EVERY_MS);
  expect(await world.guarding).toBe("the lock file is gone or was replaced");
});

test("ends hands that nobody can find", async () => {
  const world = open();
  world.state.isPublished = false;
  await world.clock.advance(EVERY_MS);
  expect(await world.guarding).toBe("hands.json is gone or is another boot's");
});

test("does not end hands because it could not look", async () => {
  const world = open();
  world.state.isBroken = true;
  await world.clock.advance(EVERY_MS);
  expect(world.problems).toEqual(["the disk does not answer"]);
  world.state.isBroken = false;
  world.state.isPublished = false;
  await world.clock.advance(EVERY_MS);
  expect(await world.guarding).toBe("hands.json is gone or is another boot's");
});

test("does not look when it is told to stop", async () => {
  const world = open();
  world.state.isLockHeld = false;
  world.end.abort();
  expect(await world.guarding).toBeUndefined();
  expect(world.clock.sleepers).toBe(0);
});

function open() {
  const clock = new ManualClock();
  const end = new AbortController();
  const state = {
    quietSinceMs: clock.now(),
    isLockHeld: true,
    isPublished: true,
    isBroken: false,
    looks: 0,
  };
  const problems: string[] = [];
  const guarding = guardLife(
    {
      clock,
      everyMs: EVERY_MS,
      quietMs: QUIET_MS,
      quietSinceMs: () => state.quietSinceMs,
      isLockHeld: () => state.isLockHeld,
      isPublished: async () => {
        if (state.isBroken) throw new Error("the disk does not answer");
        return state.isPublished;
      },
      onProblem: (error) => {
        problems.push(error instanceof Error ? error.message : "");
        return undefined;
      },
      onLook: () => {
        state.looks += 1;
      },
    },
    end.signal,
  );
  return { clock, end, state, problems, guarding };
}
