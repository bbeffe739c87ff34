import { describe, expect, test } from "vitest";
import { LeaseLostError } from "../errors.ts";
import {
  claimedSession,
  claimOne,
  insertSession,
  message,
  type OpenStore,
  running,
  START,
} from "./store.testsuite.ts";

const at = (ms: number): string => new Date(START + ms).toISOString();

/** The contract of `SessionQueue`, run by the test of every implementation. */
export function testSessionQueue(open: OpenStore): void {
  describe("SessionQueue", () => {
    testClaiming(open);
    testReleasing(open);
    testLeases(open);
  });
}

function testClaiming(open: OpenStore): void {
  test("claims what is due, the longest due first, each with a new epoch", async () => {
    await using world = await open();
    const { store } = world;
    const [late, early, never] = [
      await insertSession(store),
      await insertSession(store),
      await insertSession(store),
    ];
    await store.write((tx) => tx.queue.wake(early));
    world.time.now += 10;
    await store.write((tx) => tx.events.accept(late, [message("hello")]));
    // What was due first stays first, whatever comes in later.
    await store.write((tx) => tx.queue.wake(early));
    await store.write((tx) => tx.events.accept(early, [message("more")]));
    await store.write((tx) => tx.events.appendReceipts(early, [running()]));
    const claim = (limit: number) =>
      store.write((tx) => tx.queue.claim({ holder: "holder", leaseMs: null, limit }));
    expect(await claim(1)).toEqual([held(early, 1)]);
    expect(await claim(10)).toEqual([held(late, 1)]);
    expect(await claim(10)).toEqual([]);
    expect(await store.sessions.find(never)).toMatchObject({ last_seq: 0 });
  });

  test("gives each of many due sessions to one of two claimers", async () => {
    await using world = await open();
    const { store } = world;
    const keys = await Promise.all(Array.from({ length: 30 }, () => insertSession(store)));
    await store.write(async (tx) => {
      for (const key of keys) await tx.queue.wake(key);
    });
    const claims = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        store.write((tx) =>
          tx.queue.claim({ holder: `holder ${index % 2}`, leaseMs: null, limit: 4 }),
        ),
      ),
    );
    const ids = claims.flat().map(({ sessionId }) => sessionId);
    expect(ids.toSorted()).toEqual(keys.map(({ sessionId }) => sessionId).toSorted());
  });

  test("counts the claims since the last append or clean release", async () => {
    await using world = await open();
    const { store } = world;
    const first = await claimedSession(store);
    expect(first.claims).toBe(1);
    await store.write((tx) => tx.queue.takeOver("other"));
    expect(await claimOne(store)).toMatchObject({ claims: 2 });
    await store.write((tx) => tx.queue.takeOver("other"));
    const third = await claimOne(store);
    expect(third.claims).toBe(3);
    await store.write((tx) => tx.queue.release({ ...third, seenSeq: 0, wakeAt: tx.now }));
    const fourth = await claimOne(store);
    expect(fourth.claims).toBe(4);
    await store.write((tx) => tx.events.append({ ...fourth, drafts: [running()] }));
    await store.write((tx) => tx.queue.takeOver("other"));
    const fifth = await claimOne(store);
    expect(fifth.claims).toBe(1);
    await store.write((tx) => tx.queue.release({ ...fifth, seenSeq: 1, wakeAt: null }));
    await store.write((tx) => tx.queue.wake(first));
    expect(await claimOne(store)).toMatchObject({ claims: 1 });
  });

  test("tells when the next session becomes due", async () => {
    await using world = await open();
    const { store } = world;
    const nextDue = () => store.write((tx) => tx.queue.nextDue());
    expect(await nextDue()).toBeUndefined();
    const claim = await claimedSession(store);
    expect(await nextDue()).toBeUndefined();
    await store.write((tx) => tx.queue.release({ ...claim, seenSeq: 0, wakeAt: at(5000) }));
    expect(await nextDue()).toBe(at(5000));
    const none = await store.write((tx) =>
      tx.queue.claim({ holder: "holder", leaseMs: null, limit: 1 }),
    );
    expect(none).toEqual([]);
    world.time.now += 5000;
    await store.write((tx) => tx.queue.claim({ holder: "holder", leaseMs: 700, limit: 1 }));
    expect(await nextDue()).toBe(at(5700));
  });
}

function testReleasing(open: OpenStore): void {
  test("does not release a session to sleep while there is input", async () => {
    await using world = await open();
    const { store } = world;
    const claim = await claimedSession(store);
    const rest = { ...claim, seenSeq: 0, wakeAt: null };
    const [, isReleased] = await Promise.all([
      store.write((tx) => tx.events.accept(claim, [message("in between")])),
      store.write((tx) => tx.queue.release(rest)),
    ]);
    expect(isReleased).toBe(false);
    const drafts = await store.events.getInbox(claim);
    await store.write((tx) => tx.events.append({ ...claim, drafts }));
    const release = (seenSeq: number) =>
      store.write((tx) => tx.queue.release({ ...rest, seenSeq }));
    expect(await release(0)).toBe(false);
    expect(await release(1)).toBe(true);
    await expect(release(1)).rejects.toThrow(LeaseLostError);
  });

  test("releases a session over input that its holder has seen and leaves to wait", async () => {
    await using world = await open();
    const { store } = world;
    const claim = await claimedSession(store);
    const accept = () => store.write((tx) => tx.events.accept(claim, [message("for later")]));
    const [first] = await accept();
    const [second] = await accept();
    const release = (seenArrival: number | undefined) =>
      store.write((tx) =>
        tx.queue.release({ ...claim, seenSeq: 0, seenArrival: seenArrival ?? 0, wakeAt: null }),
      );
    expect(await release(0)).toBe(false);
    expect(await release(first?.arrival)).toBe(false);
    expect(await release(second?.arrival)).toBe(true);
    expect(await store.events.getInbox(claim)).toHaveLength(2);
    const again = { holder: "other", leaseMs: null, limit: 10 };
    expect(await store.write((tx) => tx.queue.claim(again))).toEqual([]);
    await accept();
    expect(await store.write((tx) => tx.queue.claim(again))).toHaveLength(1);
  });

  test("does not release a session to sleep over a receipt it has not seen", async () => {
    await using world = await open();
    const { store } = world;
    const claim = await claimedSession(store);
    const [, isReleased] = await Promise.all([
      store.write((tx) => tx.events.appendReceipts(claim, [running()])),
      store.write((tx) => tx.queue.release({ ...claim, seenSeq: 0, wakeAt: null })),
    ]);
    expect(isReleased).toBe(false);
  });

  test("does not release a session to sleep over a wake-up since the claim, the first time", async () => {
    await using world = await open();
    const { store } = world;
    const claim = await claimedSession(store);
    await store.write((tx) => tx.queue.wake(claim));
    const release = () =>
      store.write((tx) => tx.queue.release({ ...claim, seenSeq: 0, wakeAt: null }));
    expect(await release()).toBe(false);
    expect(await release()).toBe(true);
  });

  test("makes a session due again for input that comes right after its release", async () => {
    await using world = await open();
    const { store } = world;
    const claim = await claimedSession(store);
    const [isReleased] = await Promise.all([
      store.write((tx) => tx.queue.release({ ...claim, seenSeq: 0, wakeAt: null })),
      store.write((tx) => tx.events.accept(claim, [message("right after")])),
    ]);
    expect(isReleased).toBe(true);
    expect(await claimOne(store)).toEqual(held(claim, 2));
  });

  test("releases a session that is to be looked at again, whatever there is", async () => {
    await using world = await open();
    const { store } = world;
    const claim = await claimedSession(store);
    await store.write((tx) => tx.events.accept(claim, [message("unread")]));
    const isReleased = await store.write((tx) =>
      tx.queue.release({ ...claim, seenSeq: 0, wakeAt: tx.now }),
    );
    expect(isReleased).toBe(true);
    expect(await claimOne(store)).toMatchObject({ epoch: 2 });
  });
}

function testLeases(open: OpenStore): void {
  test("lets a lease be claimed once it has run out, and extends those that are renewed", async () => {
    await using world = await open();
    const { store } = world;
    const [renewed, left] = [await insertSession(store), await insertSession(store)];
    await store.write(async (tx) => {
      await tx.queue.wake(renewed);
      await tx.queue.claim({ holder: "first", leaseMs: 1000, limit: 1 });
      await tx.queue.wake(left);
      await tx.queue.claim({ holder: "second", leaseMs: 1000, limit: 1 });
    });
    world.time.now += 999;
    const renewal = await store.write((tx) => tx.queue.renew({ holder: "first", leaseMs: 1000 }));
    expect(renewal).toEqual([keyIn(renewed)]);
    const claim = () =>
      store.write((tx) => tx.queue.claim({ holder: "third", leaseMs: null, limit: 10 }));
    expect(await claim()).toEqual([]);
    world.time.now += 1;
    expect(await claim()).toEqual([{ ...held(left, 2), claims: 2 }]);
    expect(await store.write((tx) => tx.queue.renew({ holder: "second", leaseMs: 1 }))).toEqual([]);
    world.time.now += 999;
    expect(await claim()).toEqual([{ ...held(renewed, 2), claims: 2 }]);
  });

  test("takes over the leases of all others and none of its own", async () => {
    await using world = await open();
    const { store } = world;
    const lost = await claimedSession(store, "dead");
    const own = await claimedSession(store, "living");
    await store.write((tx) => tx.queue.takeOver("living"));
    const claims = await store.write((tx) =>
      tx.queue.claim({ holder: "living", leaseMs: null, limit: 10 }),
    );
    expect(claims).toEqual([{ ...held(lost, 2), claims: 2 }]);
    await store.write((tx) => tx.events.append({ ...own, drafts: [running()] }));
  });

  test("ends the lease of a deleted session and never claims it again", async () => {
    await using world = await open();
    const { store } = world;
    const claim = await claimedSession(store);
    await store.write((tx) => tx.sessions.delete(claim));
    await store.write((tx) => tx.queue.wake(claim));
    const release = store.write((tx) => tx.queue.release({ ...claim, seenSeq: 0, wakeAt: null }));
    await expect(release).rejects.toThrow(LeaseLostError);
    const append = store.write((tx) => tx.events.append({ ...claim, drafts: [running()] }));
    await expect(append).rejects.toThrow(LeaseLostError);
    expect(await store.write((tx) => tx.queue.nextDue())).toBeUndefined();
  });
}

function keyIn({ workspaceId, sessionId }: { workspaceId: string; sessionId: string }) {
  return { workspaceId, sessionId };
}

function held(key: { workspaceId: string; sessionId: string }, epoch: number) {
  return { ...keyIn(key), epoch, claims: 1 };
}
