import { answer, type Script, text, toolCall, toolResultsOf } from "@drover/testing";
import { expect, test } from "vitest";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { HandReport } from "../core/ports/hand-records.ts";
import type { HandCall } from "../core/ports/hands.ts";
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
