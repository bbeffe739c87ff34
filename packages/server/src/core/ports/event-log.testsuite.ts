import { describe, expect, test } from "vitest";
import { LeaseLostError } from "../errors.ts";
import { EVENT_VERSION, type EventDraft } from "../session/log-event.ts";
import {
  all,
  claimedSession,
  claimOne,
  insertSession,
  message,
  type OpenStore,
  running,
  START,
  uniqueId,
} from "./store.testsuite.ts";

/** The contract of `EventReader` and `EventWriter`, run by the test of every implementation. */
export function testEventLog(open: OpenStore): void {
  describe("EventLog", () => {
    testAppending(open);
    testInbox(open);
    testReading(open);
    testContent(open);
  });
}

function testAppending(open: OpenStore): void {
  test("numbers events from 1 without gaps and gives them back as they were appended", async () => {
    await using world = await open();
    const { store } = world;
    const claim = await claimedSession(store);
    const drafts = [message("1"), running(), message("3")];
    const appended = await store.write((tx) => tx.events.append({ ...claim, drafts }));
    const processed_at = new Date(START).toISOString();
    const log = { v: EVENT_VERSION, epoch: claim.epoch, processed_at };
    expect(appended).toEqual(drafts.map((draft, index) => ({ ...draft, ...log, seq: index + 1 })));
    expect(await all(store, claim)).toEqual(appended);
  });

  test("appends for 64 sessions at once, each without gaps", async () => {
    await using world = await open();
    const { store } = world;
    const keys = await Promise.all(Array.from({ length: 64 }, () => insertSession(store)));
    await store.write(async (tx) => {
      for (const key of keys) await tx.queue.wake(key);
    });
    const claims = await store.write((tx) =>
      tx.queue.claim({ holder: "holder", leaseMs: null, limit: 64 }),
    );
    await Promise.all(
      claims.map(async (claim) => {
        for (let round = 0; round < 10; round += 1) {
          const drafts = [message(`${round}`), running()];
          await store.write((tx) => tx.events.append({ ...claim, drafts }));
        }
      }),
    );
    for (const claim of claims) {
      const seqs = (await all(store, claim)).map(({ seq }) => seq);
      expect(seqs).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    }
  });

  test("refuses a lost lease in a group without harm to its neighbours", async () => {
    await using world = await open();
    const { store } = world;
    const old = await claimedSession(store, "first");
    const neighbour = await claimedSession(store, "first");
    await store.write((tx) => tx.queue.takeOver("second"));
    const [present] = await store.write((tx) =>
      tx.queue.claim({ holder: "second", leaseMs: null, limit: 1 }),
    );
    expect(present).toMatchObject({ sessionId: old.sessionId, epoch: old.epoch + 1 });
    const other = await claimOne(store, "second");
    const outcomes = await Promise.allSettled([
      store.write((tx) => tx.events.append({ ...other, drafts: [running()] })),
      store.write((tx) => tx.events.append({ ...old, drafts: [message("late")] })),
      store.write((tx) => tx.events.append({ ...other, drafts: [running()] })),
    ]);
    expect(outcomes).toMatchObject([
      { status: "fulfilled" },
      { status: "rejected", reason: expect.any(LeaseLostError) },
      { status: "fulfilled" },
    ]);
    expect(await all(store, old)).toEqual([]);
    expect(await all(store, neighbour)).toHaveLength(2);
  });

  test("refuses the epoch of a lease that was given back or taken away", async () => {
    await using world = await open();
    const { store } = world;
    const released = await claimedSession(store);
    await store.write((tx) => tx.queue.release({ ...released, seenSeq: 0, wakeAt: null }));
    const taken = await claimedSession(store);
    await store.write((tx) => tx.queue.takeOver("other"));
    for (const claim of [released, taken]) {
      const late = store.write((tx) => tx.events.append({ ...claim, drafts: [running()] }));
      await expect(late).rejects.toThrow(LeaseLostError);
    }
  });

  test("stores all drafts of an append or none", async () => {
    await using world = await open();
    const { store } = world;
    const claim = await claimedSession(store);
    const first = message("1");
    await store.write((tx) => tx.events.append({ ...claim, drafts: [first] }));
    const again = store.write((tx) =>
      tx.events.append({ ...claim, drafts: [message("2"), first] }),
    );
    await expect(again).rejects.toThrow();
    expect(await all(store, claim)).toHaveLength(1);
  });

  test("never lets processed_at go back, whatever the clock does", async () => {
    await using world = await open();
    const { store } = world;
    const claim = await claimedSession(store);
    for (const step of [0, 5, -60_000, 60_010]) {
      world.time.now += step;
      await store.write((tx) => tx.events.append({ ...claim, drafts: [running()] }));
    }
    const at = (ms: number) => new Date(START + ms).toISOString();
    const times = (await all(store, claim)).map(({ processed_at }) => processed_at);
    expect(times).toEqual([at(0), at(5), at(5), at(15)]);
  });

  test("changes what the session shows, and its checkpoint, with the append", async () => {
    await using world = await open();
    const { store } = world;
    const claim = await claimedSession(store);
    world.time.now += 1000;
    const totals = { usage: { input_tokens: 7 }, stats: { active_seconds: 1.5 } };
    const checkpoint = { fold: 1, seq: 1, state: '{"a":1}' };
    await store.write((tx) =>
      tx.events.append({ ...claim, drafts: [running()], status: "running", totals, checkpoint }),
    );
    const shown = { status: "running", totals, last_seq: 1 };
    const updated_at = new Date(START + 1000).toISOString();
    expect(await store.sessions.find(claim)).toMatchObject({ ...shown, updated_at });
    expect(await store.sessions.findCheckpoint(claim)).toEqual(checkpoint);
    world.time.now += 1000;
    const newer = { fold: 2, seq: 2, state: "{}" };
    await store.write((tx) =>
      tx.events.append({ ...claim, drafts: [running()], checkpoint: newer }),
    );
    expect(await store.sessions.find(claim)).toMatchObject({ ...shown, last_seq: 2, updated_at });
    expect(await store.sessions.findCheckpoint(claim)).toEqual(newer);
  });

  test("appends receipts without a lease, between the holder's events, and makes it due", async () => {
    await using world = await open();
    const { store } = world;
    const claim = await claimedSession(store);
    await store.write((tx) => tx.events.append({ ...claim, drafts: [running()] }));
    const [receipt] = await store.write((tx) => tx.events.appendReceipts(claim, [running()]));
    expect(receipt).toMatchObject({ seq: 2, epoch: 0 });
    await store.write((tx) => tx.events.append({ ...claim, drafts: [running()] }));
    expect((await all(store, claim)).map(({ epoch }) => epoch)).toEqual([1, 0, 1]);
  });
}

function testInbox(open: OpenStore): void {
  test("keeps input in order of arrival until it is committed under its id", async () => {
    await using world = await open();
    const { store } = world;
    const key = await insertSession(store);
    const [first, second, third] = [message("1"), message("2"), message("3")];
    await store.write((tx) => tx.events.accept(key, [first, second]));
    world.time.now += 1;
    const [accepted] = await store.write((tx) => tx.events.accept(key, [third]));
    expect(accepted).toEqual({
      ...third,
      arrival: expect.any(Number),
      accepted_at: new Date(START + 1).toISOString(),
    });
    const inbox = await store.events.getInbox(key);
    expect(inbox.map(({ id }) => id)).toEqual([first.id, second.id, third.id]);
    expect(inbox[2]).toEqual(accepted);
    const claim = await claimOne(store);
    const drafts = inbox.slice(0, 2);
    const events = await store.write((tx) => tx.events.append({ ...claim, drafts }));
    expect(events.map(({ id, seq }) => [id, seq])).toEqual([
      [first.id, 1],
      [second.id, 2],
    ]);
    expect(events[0]).not.toHaveProperty("arrival");
    expect(await store.events.getInbox(key)).toEqual([accepted]);
    const [fourth] = await store.write((tx) => tx.events.accept(key, [message("4")]));
    expect(fourth?.arrival).toBeGreaterThan(accepted?.arrival ?? 0);
  });

  test("leaves input in the inbox when its commit is refused", async () => {
    await using world = await open();
    const { store } = world;
    const claim = await claimedSession(store);
    await store.write((tx) => tx.events.accept(claim, [message("hello")]));
    const drafts = await store.events.getInbox(claim);
    await store.write((tx) => tx.queue.takeOver("other"));
    const late = store.write((tx) => tx.events.append({ ...claim, drafts }));
    await expect(late).rejects.toThrow(LeaseLostError);
    expect(await store.events.getInbox(claim)).toEqual(drafts);
  });

  test("takes no input for a session that is not there", async () => {
    await using world = await open();
    const key = { workspaceId: uniqueId("wrkspc"), sessionId: uniqueId("sesn") };
    const accepted = world.store.write((tx) => tx.events.accept(key, [message("hello")]));
    await expect(accepted).rejects.toThrow(key.sessionId);
  });
}

function testReading(open: OpenStore): void {
  test("reads slices by position, in either order", async () => {
    await using world = await open();
    const { store } = world;
    const claim = await claimedSession(store);
    const drafts = Array.from({ length: 10 }, (_, index) => message(`${index}`));
    await store.write((tx) => tx.events.append({ ...claim, drafts }));
    const seqs = async (range: object) =>
      (await store.events.getEvents(claim, { limit: 3, ...range })).map(({ seq }) => seq);
    expect(await seqs({})).toEqual([1, 2, 3]);
    expect(await seqs({ after: 8 })).toEqual([9, 10]);
    expect(await seqs({ before: 3 })).toEqual([1, 2]);
    expect(await seqs({ after: 2, before: 5, order: "desc" })).toEqual([4, 3]);
    expect(await seqs({ order: "desc" })).toEqual([10, 9, 8]);
    expect(await seqs({ after: 10 })).toEqual([]);
    expect(await store.events.findSeq(claim, drafts[4]?.id ?? "")).toBe(5);
    expect(await store.events.findSeq(claim, "sevt_of_nobody")).toBeUndefined();
  });

  test("reads by type, thread, time and visibility", async () => {
    await using world = await open();
    const { store } = world;
    const claim = await claimedSession(store);
    const child = uniqueId("sthr");
    const hidden: EventDraft = {
      ...running(claim.threadId),
      type: "drover.retry_scheduled",
      public: {},
      private: { attempt: 1, at_ms: 5 },
    };
    const drafts = [
      message("1", claim.threadId),
      message("2", child),
      { ...message("3", child), cross_posted: true },
      hidden,
      running(claim.threadId),
    ];
    for (const draft of drafts) {
      await store.write((tx) => tx.events.append({ ...claim, drafts: [draft] }));
      world.time.now += 10;
    }
    const seqs = async (range: object) =>
      (await store.events.getEvents(claim, { limit: 100, ...range })).map(({ seq }) => seq);
    const at = (ms: number) => new Date(START + ms).toISOString();
    expect(await seqs({ visible: true })).toEqual([1, 3, 5]);
    expect(await seqs({ threadId: child })).toEqual([2, 3]);
    expect(await seqs({ visible: true, threadId: child })).toEqual([2, 3]);
    expect(await seqs({ visible: true, threadId: claim.threadId })).toEqual([1, 5]);
    expect(await seqs({ types: ["session.status_running", "drover.retry_scheduled"] })).toEqual([
      4, 5,
    ]);
    expect(await seqs({ types: [] })).toEqual([]);
    expect(await seqs({ processedAt: { gt: at(0), lte: at(20) } })).toEqual([2, 3]);
    expect(await seqs({ processedAt: { gte: at(30), lt: at(40) } })).toEqual([4]);
    const zoned = at(30).replace("T03:", "T04:").replace("Z", "+01:00");
    expect(await seqs({ processedAt: { gte: zoned } })).toEqual([4, 5]);
  });

  test("ends a slice after 16 MB, and never before its first event", async () => {
    await using world = await open();
    const { store } = world;
    const claim = await claimedSession(store);
    for (const megabytes of [6, 6, 6, 20, 1]) {
      const drafts = [message("x".repeat(megabytes * 1024 * 1024))];
      await store.write((tx) => tx.events.append({ ...claim, drafts }));
    }
    const seqs = async (range: object) =>
      (await store.events.getEvents(claim, { limit: 100, ...range })).map(({ seq }) => seq);
    expect(await seqs({})).toEqual([1, 2, 3]);
    expect(await seqs({ after: 3 })).toEqual([4]);
    expect(await seqs({ after: 4 })).toEqual([5]);
    expect(await seqs({ order: "desc" })).toEqual([5, 4]);
  });

  test("shows a session to its own workspace only", async () => {
    await using world = await open();
    const { store } = world;
    const claim = await claimedSession(store);
    const [event] = await store.write((tx) =>
      tx.events.append({ ...claim, drafts: [message("secret")] }),
    );
    const stranger = { ...claim, workspaceId: uniqueId("wrkspc") };
    expect(await all(store, stranger)).toEqual([]);
    expect(await store.events.findSeq(stranger, event?.id ?? "")).toBeUndefined();
    expect(await store.sessions.find(stranger)).toBeUndefined();
    const append = store.write((tx) => tx.events.append({ ...stranger, drafts: [running()] }));
    await expect(append).rejects.toThrow(LeaseLostError);
    await expect(
      store.write((tx) => tx.events.appendReceipts(stranger, [running()])),
    ).rejects.toThrow();
  });
}

function testContent(open: OpenStore): void {
  test("keeps NUL, lone surrogates, key order and awkward keys byte for byte", async () => {
    await using world = await open();
    const { store } = world;
    const claim = await claimedSession(store);
    const input = JSON.parse('{"z":"\\u0000","a":"\\ud800","__proto__":{"x":[1]},"$large":"no"}');
    const draft: EventDraft = {
      ...running(),
      type: "agent.tool_use",
      public: { name: "bash", input },
      private: { request: "sevt_r", blocks: [{ index: 0, block: { type: "tool_use", input } }] },
    };
    await store.write((tx) => tx.events.append({ ...claim, drafts: [draft] }));
    const [event] = await all(store, claim);
    expect(JSON.stringify(event?.public)).toBe(JSON.stringify(draft.public));
    expect(JSON.stringify(event?.private)).toBe(JSON.stringify(draft.private));
  });

  test("gives large content back as it was, through inbox and log", async () => {
    await using world = await open();
    const { store } = world;
    const claim = await claimedSession(store);
    const large = "\u0000é\ud800".repeat(70_000);
    const input = { path: "/a", __proto__: null, content: large, also: [{ deep: `${large}!` }] };
    const draft: EventDraft = {
      ...running(),
      type: "agent.tool_use",
      public: { name: "write", input },
      private: { request: "sevt_r", blocks: [{ index: 0, block: { type: "tool_use", input } }] },
    };
    const waiting = message(large);
    await store.write((tx) => tx.events.accept(claim, [waiting]));
    const inbox = await store.events.getInbox(claim);
    expect(JSON.stringify(inbox[0]?.public)).toBe(JSON.stringify(waiting.public));
    await store.write((tx) => tx.events.append({ ...claim, drafts: [...inbox, draft] }));
    const events = await all(store, claim);
    expect(events.map((event) => JSON.stringify(event.public))).toEqual(
      [waiting, draft].map((given) => JSON.stringify(given.public)),
    );
    expect(JSON.stringify(events[1]?.private)).toBe(JSON.stringify(draft.private));
  });
}
