import { expect, test } from "vitest";
import { keyOf, newSession } from "../../core/ports/store.testsuite.ts";
import { openTestStore } from "./open-test-store.testsuite.ts";

test("a read beside an open transaction sees what is committed, and then what was", async () => {
  await using world = await openTestStore();
  const { store } = world;
  const session = newSession();
  const beside = await store.write(async (tx) => {
    await tx.sessions.insert(session);
    const within = await tx.sessions.find(keyOf(session));
    return { within: within?.id, outside: await store.sessions.find(keyOf(session)) };
  });
  expect(beside).toEqual({ within: session.id, outside: undefined });
  expect(await store.sessions.find(keyOf(session))).toMatchObject({ id: session.id });
});
