import { expect, onTestFinished, test } from "vitest";
import type { LogEvent } from "../core/session/log-event.ts";
import { ManualClock } from "../hands/fake/manual-clock.ts";
import { openMemoryStore } from "../store/sqlite/memory-store.testsuite.ts";
import { committed, testDrafting, userMessage } from "../testing/logs.ts";
import { testSession } from "../testing/session.ts";
import { addEvents, collectCopies, withCopy } from "./sessions-copy.ts";

const minute = 60_000;
const session = testSession();
const key = { workspaceId: session.workspace_id, sessionId: session.id };

function world() {
  const clock = new ManualClock();
  const store = openMemoryStore({ clock, announcements: { publish: () => undefined } });
  const left = () => store.write((tx) => tx.copies.listAbandoned("9999-01-01T00:00:00.000Z", 10));
  return { clock, store, left };
}

function events(count: number): readonly LogEvent[] {
  const drafting = testDrafting();
  return committed(Array.from({ length: count }, (_, index) => userMessage(drafting, `${index}`)));
}

test("what is not finished is gone, whatever went wrong", async () => {
  const { store, left } = world();
  const failure = new Error("changed its mind");
  const making = withCopy(store, session, async () => {
    await addEvents(store, key, events(3));
    throw failure;
  });
  await expect(making).rejects.toBe(failure);
  expect(await left()).toEqual([]);
  expect(await store.sessions.find(key)).toBeUndefined();
});

test("what a process that died left half made goes later, and nothing else does", async () => {
  const { clock, store, left } = world();
  await store.write((tx) => tx.copies.begin(session));
  await addEvents(store, key, events(5_000));
  const stop = new AbortController();
  const collecting = collectCopies({ store, clock }, stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await collecting;
  });
  const pass = async () => {
    await expect.poll(() => clock.sleepers).toBe(1);
    await clock.advance(minute);
  };
  for (let minutes = 0; minutes < 10; minutes += 1) await pass();
  await expect.poll(() => clock.sleepers).toBe(1);
  expect(await left()).toEqual([key]);
  await pass();
  await expect.poll(() => clock.sleepers).toBe(1);
  expect(await left()).toEqual([]);
  expect(await store.sessions.find(key)).toBeUndefined();
});
