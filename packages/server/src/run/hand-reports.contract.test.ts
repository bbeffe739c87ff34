import { answer, text } from "@drover/testing";
import { expect, onTestFinished, test } from "vitest";
import type { KeptFiles } from "../core/ports/checkpoints.ts";
import type { HandReport } from "../core/ports/hand-records.ts";
import type { FailPoint } from "../lib/fail-point.ts";
import { createBrainWorld } from "../testing/brain.ts";
import { commitSome } from "./hand-reports.ts";

const KEY = { workspace_id: "wrkspc_1", hand_id: "hand_1" };
const FAR = "2999-01-01T00:00:00.000Z";

function reportOf(call: string): HandReport {
  return {
    ...{ ...KEY, installation_id: "inst_1", line: 1, problem: null },
    checkpoint: { sha256: call.at(-1)?.repeat(64) ?? "", size_bytes: 9 },
    call_ids: ["sevt_1", call],
    taken_at: "2026-11-30T10:00:00.000Z",
  };
}

/** A hand with a call that was answered, and hands that tell of its files until they are heard. */
async function open() {
  const brain = await createBrainWorld({ script: () => answer(text("done")), tools: {} });
  onTestFinished(() => brain[Symbol.asyncDispose]());
  const { store, deps } = brain;
  const where = { installationId: "inst_1", line: 1 };
  await store.write(async (tx) => {
    await tx.hands.place(KEY.workspace_id, KEY.hand_id, where);
    await tx.hands.answered(KEY.workspace_id, KEY.hand_id, "sevt_b");
  });
  const told: HandReport[] = [];
  const hands: KeptFiles = {
    reports: async () => [...told],
    acknowledge: async (report) => {
      told.splice(told.indexOf(report), 1);
    },
  };
  return {
    told,
    /** A server, which may die at a point: there everything of it ends. */
    serve: (diesAt?: FailPoint) =>
      commitSome({
        ...{ store, hands, clock: deps.clock, log: deps.log },
        failPoint: (name) => {
          if (name === diesAt) throw new Error(`died at ${name}`);
        },
      }),
    state: async () => {
      const hand = await store.hands.find(KEY.workspace_id, KEY.hand_id);
      const loose = await store.write((tx) => tx.looseBlobs.list(FAR, 100));
      return { checkpoint: hand?.checkpoint, loose: loose.map(({ sha256 }) => sha256) };
    },
  };
}

test.each(["serve.report.before", "serve.report.after"] as const)(
  "what hands keep is recorded once when the server dies at %s",
  async (point) => {
    const { told, serve, state } = await open();
    const [earlier, newest] = [reportOf("sevt_a"), reportOf("sevt_b")];
    told.push(earlier);
    expect(await serve()).toBe(1);
    told.push(newest);
    await expect(serve(point)).rejects.toThrow(point);
    expect(told).toEqual([newest]);
    expect(await serve()).toBe(1);
    const recorded = { ...newest.checkpoint, call_id: "sevt_b", taken_at: newest.taken_at };
    const expected = { checkpoint: recorded, loose: [earlier.checkpoint?.sha256] };
    expect([told, await state()]).toEqual([[], expected]);
    expect(await serve()).toBe(0);
    // Heard late, as by a server that was frozen where the other one died.
    told.push(newest);
    await serve();
    expect(await state()).toEqual(expected);
  },
);
