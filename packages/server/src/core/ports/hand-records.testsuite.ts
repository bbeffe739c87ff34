import { describe, expect, test } from "vitest";
import { type HandReport, isAhead } from "./hand-records.ts";
import { claimedSession, keyOf, type OpenStore, running, uniqueId } from "./store.testsuite.ts";

/** The contract of `HandRecords`, run by the test of every implementation. */
export function testHandRecords(open: OpenStore): void {
  describe("HandRecords", () => {
    testPlaces(open);
    testReports(open);
    testHolders(open);
  });
}

function reportOf(handId: string, workspaceId: string, more: Partial<HandReport>): HandReport {
  return {
    workspace_id: workspaceId,
    hand_id: handId,
    installation_id: "inst_1",
    line: 1,
    checkpoint: { sha256: "a".repeat(64), size_bytes: 5_000_000_000 },
    problem: null,
    call_ids: ["sevt_1"],
    taken_at: "2026-11-30T10:00:00.000Z",
    ...more,
  };
}

function testPlaces(open: OpenStore): void {
  test("a hand's line begins once, and again only with a higher one", async () => {
    await using world = await open();
    const { store } = world;
    const [workspaceId, handId] = [uniqueId("wrkspc"), uniqueId("hand")];
    expect(await store.hands.find(workspaceId, handId)).toBeUndefined();
    const place = (installationId: string, line: number) =>
      store.write((tx) => tx.hands.place(workspaceId, handId, { installationId, line }));
    await place("inst_1", 1);
    await store.write((tx) => tx.hands.answered(workspaceId, handId, "sevt_1"));
    await place("inst_1", 1);
    const first = await store.hands.find(workspaceId, handId);
    expect(first).toEqual({
      ...{ workspace_id: workspaceId, hand_id: handId, installation_id: "inst_1", line: 1 },
      ...{ last_call_id: "sevt_1", checkpoint: null, problem: null },
    });
    expect(first && isAhead(first)).toBe(true);
    await place("inst_2", 2);
    const second = await store.hands.find(workspaceId, handId);
    expect(second).toMatchObject({ installation_id: "inst_2", line: 2, last_call_id: null });
    expect(await store.hands.find("wrkspc_other", handId)).toBeUndefined();
  });
}

function testReports(open: OpenStore): void {
  test("the newest checkpoint is kept, the one before it is loose", async () => {
    await using world = await open();
    const { store } = world;
    const [workspaceId, handId] = [uniqueId("wrkspc"), uniqueId("hand")];
    const [one, two] = [uniqueId("one"), uniqueId("two")];
    const kept = (sha256: string) =>
      store.write((tx) => tx.files.isReferenced(workspaceId, sha256));
    const loose = async () =>
      (await store.write((tx) => tx.looseBlobs.list("2999-01-01T00:00:00.000Z", 1_000)))
        .filter((blob) => blob.workspaceId === workspaceId)
        .map(({ sha256 }) => sha256);
    const tell = (more: Partial<HandReport>) =>
      store.write((tx) => tx.hands.report(reportOf(handId, workspaceId, more)));
    await tell({ checkpoint: { sha256: one, size_bytes: 1 } });
    expect([await kept(one), await loose()]).toEqual([false, [one]]);
    await store.write(async (tx) => {
      const blobs = await tx.looseBlobs.list("2999-01-01T00:00:00.000Z", 1_000);
      for (const blob of blobs) if (blob.sha256 === one) await tx.looseBlobs.remove(blob);
      await tx.hands.place(workspaceId, handId, { installationId: "inst_1", line: 1 });
      await tx.hands.answered(workspaceId, handId, "sevt_2");
    });
    const first = { checkpoint: { sha256: one, size_bytes: 1 }, call_ids: ["sevt_2", "sevt_1"] };
    await tell(first);
    await tell(first);
    expect([await kept(one), await loose()]).toEqual([true, []]);
    const hand = await store.hands.find(workspaceId, handId);
    expect(hand?.checkpoint).toMatchObject({ sha256: one, call_id: "sevt_2" });
    expect(hand && isAhead(hand)).toBe(false);
    await store.write((tx) => tx.hands.answered(workspaceId, handId, "sevt_3"));
    await tell({ checkpoint: null, problem: "too much" });
    expect(await store.hands.find(workspaceId, handId)).toMatchObject({
      problem: "too much",
      checkpoint: { sha256: one },
    });
    await tell({ checkpoint: { sha256: two, size_bytes: 6_000_000_000 }, call_ids: [] });
    const later = await store.hands.find(workspaceId, handId);
    expect(later).toMatchObject({
      problem: null,
      checkpoint: { sha256: two, size_bytes: 6_000_000_000, call_id: "sevt_2" },
    });
    expect(later && isAhead(later)).toBe(true);
    expect([await kept(one), await kept(two), await loose()]).toEqual([false, true, [one]]);
    for (const other of [{ line: 2 }, { installation_id: "inst_2" }]) {
      const sha256 = uniqueId("stale");
      await tell({ ...other, checkpoint: { sha256, size_bytes: 1 } });
      expect(await loose()).toContain(sha256);
    }
    expect((await store.hands.find(workspaceId, handId))?.checkpoint?.sha256).toBe(two);
    await store.write((tx) => tx.hands.remove(workspaceId, handId));
    expect([await kept(two), await loose()]).toEqual([false, expect.arrayContaining([two])]);
  });
}

function testHolders(open: OpenStore): void {
  test("swapped hands fence whoever drove the sessions, and go with their holder", async () => {
    await using world = await open();
    const { store } = world;
    const first = await claimedSession(store);
    const session = await store.sessions.find(first);
    const second = await store.write(async (tx) => {
      if (session === undefined) throw new Error("there is a session");
      const other = { ...session, id: uniqueId("sesn"), hand_id: uniqueId("hand") };
      await tx.sessions.insert(other);
      return other;
    });
    const { workspace_id: workspaceId, hand_id: handId, id } = session ?? second;
    await store.write(async (tx) => {
      await tx.hands.place(workspaceId, handId, { installationId: "inst_1", line: 1 });
      await tx.sessions.swapHands(workspaceId, [id, second.id]);
    });
    expect((await store.sessions.find(first))?.hand_id).toBe(second.hand_id);
    expect((await store.sessions.find(keyOf(second)))?.hand_id).toBe(handId);
    const late = { ...first, drafts: [running()] };
    await expect(store.write((tx) => tx.events.append(late))).rejects.toThrow();
    // No call is in its log, and yet there is a hand to be disposed of.
    await store.write((tx) => tx.sessions.delete(keyOf(second)));
    const undisposed = await store.write((tx) => tx.sessions.listUndisposed({ limit: 1_000 }));
    expect(undisposed.map((hand) => hand.handId)).toContain(handId);
    expect(await store.hands.find(workspaceId, handId)).toBeUndefined();
  });
}
