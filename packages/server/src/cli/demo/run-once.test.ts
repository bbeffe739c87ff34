import { expect, test } from "vitest";
import { proveRunOnce, remarkOn } from "./run-once.ts";
import type { SessionEvent } from "./session-watch.ts";

const OUTAGE = { from: 2_000, to: 4_000 };

test("one call, one result and batches that all differ prove it", () => {
  const log = [use("call"), result("call", [1, 2, 3, 4, 5])];
  expect(proveRunOnce(log, "call", OUTAGE)).toEqual({
    isProved: true,
    findings: [
      "The log has this call once and its result once.",
      "The command itself counted 5 batches, 5 different ones, 3 of them while no server was alive.",
    ],
  });
});

test.each([
  ["a batch that ran twice", [use("call"), result("call", [1, 2, 2, 3])]],
  ["a second result", [use("call"), result("call", [1]), result("call", [1])]],
  ["no result", [use("call")]],
  ["a call sent twice", [use("call"), use("call"), result("call", [1])]],
])("%s is not taken for a proof", (_, log) => {
  expect(proveRunOnce(log, "call", OUTAGE).isProved).toBe(false);
});

test("only lines printed while the server was dead are remarked on", () => {
  const remarks = ["batch 1 at 1.9: x", "batch 2 at 2.1: x", "batch 3 at 4.1: x", "2.5"].map(
    (line) => remarkOn(line, OUTAGE),
  );
  expect(remarks.map((remark) => remark !== undefined)).toEqual([false, true, false, false]);
  expect(remarkOn("batch 2 at 2.1: x", undefined)).toBeUndefined();
});

function use(id: string): SessionEvent {
  return { type: "agent.tool_use", id, name: "bash", input: {}, processed_at: "" };
}

function result(callId: string, batches: readonly number[]): SessionEvent {
  const text = batches.map((batch) => `batch ${batch} at ${batch}.0: 500 shuffles`).join("\n");
  return {
    type: "agent.tool_result",
    id: "sevt_result",
    tool_use_id: callId,
    content: [{ type: "text", text }],
    processed_at: "",
  };
}
