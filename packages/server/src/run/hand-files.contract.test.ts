import { answer, type Script, text, toolCall, toolResultsOf } from "@drover/testing";
import { expect, test } from "vitest";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { HandReport } from "../core/ports/hand-records.ts";
import type { HandCall, MemoryReport } from "../core/ports/hands.ts";
import { MemoryHands } from "../hands/fake/memory-hands.ts";
import { LocalAnnouncements } from "../store/local-announcements.ts";
import { type BrainWorld, createBrainWorld } from "../testing/brain.ts";
import { commitSome } from "./hand-reports.ts";

/** Calls one tool for each message, and says what came of it. */
const ONE_CALL: Script = (request) => {
  const [result] = toolResultsOf(request).values();
  if (result !== undefined) return answer(text("done"));
  return answer(toolCall("write", { path: "/workspace/file", content: "x" }));
};

async function open() {
  const calls: HandCall[] = [];
  const write = (call: HandCall) => {
    calls.push(call);
    return "written";
  };
  const brain = await createBrainWorld({ script: ONE_CALL, tools: { write } });
  const key = await brain.newSession();
  const handId = (await brain.store.sessions.find(key))?.hand_id ?? "";
  const hand = () => brain.store.hands.find(key.workspaceId, handId);
  return { brain, key, calls, hand, handId };
}

async function say(brain: BrainWorld, key: SessionKey): Promise<string> {
  await brain.send(key, "go on");
  await brain.run();
  const log = await brain.log(key);
  const result = log.findLast(({ type }) => type === "agent.tool_result");
  return result?.type === "agent.tool_result" ? JSON.stringify(result.public.content) : "";
}

const report = (key: SessionKey, handId: string, more: Partial<HandReport>): HandReport => ({
  ...{ workspace_id: key.workspaceId, hand_id: handId, installation_id: "inst_memory_1", line: 1 },
  ...{ checkpoint: { sha256: "c".repeat(64), size_bytes: 9 }, problem: null },
  ...{ call_ids: [], taken_at: "2026-11-30T10:00:00.000Z" },
  ...more,
});

test("a call says which state of the files it is for, and is answered in the hand's record", async () => {
  const { brain, key, calls, hand } = await open();
  await using _ = brain;
  expect(await say(brain, key)).toContain("written");
  expect(calls[0]?.files).toEqual({ line: 1, is_ahead: false });
  expect(await hand()).toMatchObject({ line: 1, last_call_id: calls[0]?.callId });
  await say(brain, key);
  expect(calls[1]?.files).toEqual({ line: 1, is_ahead: true });
});

test("files that another machine had and nobody kept are told of once, and the session goes on", async () => {
  const { brain, key, calls, hand } = await open();
  await using _ = brain;
  await say(brain, key);
  brain.hands.loseFiles("inst_memory_2");
  expect(await say(brain, key)).toContain(
    `What these calls changed may be missing: write (${calls[0]?.callId}).`,
  );
  expect(calls).toHaveLength(1);
  expect(await hand()).toMatchObject({ installation_id: "inst_memory_2", line: 2 });
  expect(await say(brain, key)).toContain("written");
  expect(calls[1]?.files).toEqual({ line: 2, is_ahead: false });
});

/** A server whose call runs on another machine than that of the one that goes on with the session. */
async function takenOver(options: { readonly interrupts?: boolean } = {}) {
  const begun = Promise.withResolvers<HandCall>();
  const release = Promise.withResolvers<void>();
  const brain = await createBrainWorld({
    script: ONE_CALL,
    tools: {
      write: async (call) => {
        begun.resolve(call);
        await release.promise;
        return { content: [{ type: "text", text: "late" }], memory: LATE_MEMORY };
      },
    },
  });
  const key = await brain.newSession();
  const calls: HandCall[] = [];
  const write = (call: HandCall) => {
    calls.push(call);
    return "written here";
  };
  const hands = new MemoryHands({ tools: { write }, installation: "inst_memory_2" });
  const handId = (await brain.store.sessions.find(key))?.hand_id ?? "";
  const hand = () => brain.store.hands.find(key.workspaceId, handId);
  await brain.send(key, "go");
  // It hears of nothing any more, as a server that is cut off.
  const announcements = new LocalAnnouncements(() => undefined);
  const first = brain.run(0, { ...brain.deps, announcements });
  const sent = await begun.promise;
  if (options.interrupts) await brain.send(key, "interrupt");
  const second = { ...brain.deps, hands, memoryCopies: hands };
  await brain.run(0, second);
  return { brain, key, calls, hand, handId, first, sent, second, release: release.resolve };
}

const LATE_MEMORY: MemoryReport = { copy_id: "copy_1", seq: 1, changes: [], unstored: [] };

test("a call that may still run on another machine is said to, and its files are left to it", async () => {
  const world = await takenOver();
  const { brain, key, calls, hand, handId, sent, first, second } = world;
  await using _ = brain;
  const resultOf = async () => {
    const log = await brain.log(key);
    return log.findLast((event) => event.type === "agent.tool_result");
  };
  expect(await resultOf()).toMatchObject({
    public: { tool_use_id: sent.callId, is_error: true },
    private: { reason: "out_of_reach", hand_id: handId },
  });
  const text = JSON.stringify((await resultOf())?.public.content);
  expect(text).toContain("may still run there");
  expect(text).toContain("The next call gets a new sandbox with its files as they were when");
  expect(text).not.toContain("nothing of it still runs");
  expect([calls, await hand()]).toMatchObject([[], { line: 2, last_call_id: null }]);
  // Whatever comes from there now comes to nothing.
  const before = await brain.log(key);
  world.release();
  await first;
  await commitSome({
    ...brain.deps,
    hands: {
      reports: async () => [report(key, handId, { call_ids: [sent.callId] })],
      acknowledge: async () => undefined,
    },
  });
  expect(await brain.log(key)).toEqual(before);
  expect(await brain.store.memoryStores.findCopy(key)).toBeUndefined();
  expect(await hand()).toMatchObject({ line: 2, last_call_id: null, checkpoint: null });
  // Neither are its files the session's when the next call comes to that machine again.
  await brain.send(key, "go on");
  await brain.run(0, second);
  expect(calls.map(({ files }) => files)).toEqual([{ line: 3, is_ahead: false }]);
});

test("a call on another machine is not said to be interrupted", async () => {
  const world = await takenOver({ interrupts: true });
  const { brain, key, hand, first } = world;
  await using _ = brain;
  const results = (await brain.log(key)).filter(({ type }) => type === "agent.tool_result");
  expect(results).toMatchObject([{ private: { reason: "out_of_reach" } }]);
  expect(await hand()).toMatchObject({ line: 2 });
  world.release();
  await first;
});

test("files that were lost where they were begin with the newest checkpoint", async () => {
  const { brain, key, calls, hand, handId } = await open();
  await using _ = brain;
  await say(brain, key);
  const told = report(key, handId, { call_ids: [calls[0]?.callId ?? ""] });
  const heard: HandReport[] = [];
  await commitSome({
    ...brain.deps,
    hands: {
      reports: async () => [told],
      acknowledge: async (each) => void heard.push(each),
    },
  });
  expect(heard).toEqual([told]);
  expect((await hand())?.checkpoint?.call_id).toBe(calls[0]?.callId);
  // Nothing is missing, so nothing is told.
  brain.hands.loseFiles("inst_memory_2");
  expect(await say(brain, key)).toContain("written");
  const { checkpoint } = told;
  expect(calls[1]?.files).toEqual({ line: 2, is_ahead: false, checkpoint });
  brain.hands.loseFiles();
  const lost = await say(brain, key);
  expect(lost).toContain("as they were kept at 2026-11-30T10:00:00.000Z");
  expect(lost).toContain(`may be missing: write (${calls[1]?.callId}).`);
  expect(await say(brain, key)).toContain("written");
  expect(calls[2]?.files).toEqual({ line: 3, is_ahead: false, checkpoint });
  expect(calls).toHaveLength(3);
});
