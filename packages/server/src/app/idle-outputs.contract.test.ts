import { answer, text } from "@drover/testing";
import { expect, onTestFinished, test } from "vitest";
import type { LiveOutputs, OutputFile } from "../core/ports/hands.ts";
import { createBrainWorld } from "../testing/brain.ts";
import { IdleOutputs } from "./idle-outputs.ts";

const LATE: OutputFile = { path: "late.txt", sha256: "0".repeat(64), size_bytes: 4, found: 7 };

test("what is found of a session that rests is recorded once, however many ask", async () => {
  const world = await open();
  await Promise.all([world.idle.record(world.key), world.idle.record(world.key)]);
  expect(await world.files()).toEqual(["late.txt"]);
  expect([world.looks(), world.settled]).toEqual([1, [LATE]]);
  await world.idle.record(world.key);
  expect([world.looks(), await world.files()]).toEqual([2, ["late.txt"]]);
});

test("nothing is recorded of a session that was driven meanwhile, or is being driven", async () => {
  const world = await open(async () => {
    await world.brain.send(world.key, "On with it.");
    await world.brain.run();
  });
  await world.idle.record(world.key);
  expect([world.looks(), await world.files(), world.settled]).toEqual([1, [], []]);
  await world.brain.store.write((tx) => tx.sessions.update(world.key, { status: "running" }));
  await world.idle.record(world.key);
  expect(world.looks()).toBe(1);
  await world.idle.record({ ...world.key, workspaceId: "wrkspc_other" });
  expect(world.looks()).toBe(1);
});

async function open(duringLook: () => Promise<void> = async () => {}) {
  const brain = await createBrainWorld({ script: () => answer(text("Done.")), tools: {} });
  onTestFinished(() => brain[Symbol.asyncDispose]());
  const key = await brain.newSession();
  const settled: OutputFile[] = [];
  let looks = 0;
  const liveOutputs: LiveOutputs = {
    lookAtOutputs: async () => {
      looks += 1;
      await duringLook();
      return settled.length === 0 ? [LATE] : [];
    },
    settleOutputs: async (_handId, outputs) => {
      settled.push(...outputs);
    },
  };
  const { store } = brain;
  const { newId } = brain.deps;
  const files = async () => {
    const page = { limit: 10, order: "asc" as const };
    const found = await store.files.list(key.workspaceId, { sessionId: key.sessionId }, page);
    return found.map(({ output_path }) => output_path);
  };
  const idle = new IdleOutputs({ store, liveOutputs, newId });
  return { brain, key, idle, settled, files, looks: () => looks };
}
