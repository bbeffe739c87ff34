import { createHash } from "node:crypto";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { MemoryBlobs } from "../../store/memory-blobs.ts";
import { ScriptedSandbox } from "../fake/scripted-provider.ts";
import { testCommittedOutputs } from "../fake/test-committed-outputs.ts";
import { type CollectOptions, OutputCollector, type OutputLimits } from "./output-collector.ts";
import { OUTPUTS_FOLDER } from "./output-file.ts";
import { OutputLedger } from "./output-ledger.ts";

const HAND = { workspaceId: "wrkspc_1", handId: "hand_1" };

test("takes new files, then only what is new or changed since", async () => {
  const world = open();
  world.sandbox.put(`${OUTPUTS_FOLDER}/report.md`, "one");
  world.sandbox.put(`${OUTPUTS_FOLDER}/charts/a.svg`, "<svg/>");
  expect(await world.collect()).toEqual(["report.md: one", "charts/a.svg: <svg/>"]);
  expect(await world.collect()).toEqual([]);
  world.sandbox.put(`${OUTPUTS_FOLDER}/report.md`, "two");
  expect(await world.collect()).toEqual(["report.md: two"]);
});

test("takes a file of several reads whole, and an empty one", async () => {
  const world = open();
  const large = "0123456789".repeat(250_000);
  world.sandbox.put(`${OUTPUTS_FOLDER}/large`, large);
  world.sandbox.put(`${OUTPUTS_FOLDER}/empty`, "");
  expect(await world.collect()).toEqual([`large: ${large}`, "empty: "]);
});

test("leaves a file that changes while it is read to the next time, and stores none of it", async () => {
  const world = open();
  world.sandbox.put(`${OUTPUTS_FOLDER}/log`, "first");
  world.sandbox.onRead = (path) => world.sandbox.put(path, "other");
  expect(await world.collect()).toEqual([]);
  const first = createHash("sha256").update("first").digest("hex");
  expect(await world.blobs.get(HAND.workspaceId, first)).toBeUndefined();
  world.sandbox.onRead = () => {};
  expect(await world.collect()).toEqual(["log: other"]);
});

test("takes what the store refused again next time", async () => {
  const world = open();
  world.sandbox.put(`${OUTPUTS_FOLDER}/a`, "a");
  const { put } = world.blobs;
  world.blobs.put = () => Promise.reject(new Error("disk full"));
  expect(await world.collect()).toEqual([]);
  world.blobs.put = put;
  expect(await world.collect()).toEqual(["a: a"]);
});

test("leaves out files that are too large, too many or too much for one call", async () => {
  const world = open({ fileBytes: 4, files: 4, callBytes: 6 });
  for (const name of ["a", "b", "c", "d", "e"]) {
    world.sandbox.put(
      `${OUTPUTS_FOLDER}/${name}`,
      name === "b" ? "large" : `${name}${name}${name}`,
    );
  }
  expect(await world.collect()).toEqual(["a: aaa", "c: ccc"]);
  expect(await world.collect()).toEqual(["d: ddd"]);
  expect(world.reports).toContain("output_too_large");
  expect(world.reports).toContain("outputs_too_many");
});

test("takes no path that is not plainly below the folder", async () => {
  const world = open({ pathBytes: 40 });
  const list = world.sandbox.list.bind(world.sandbox);
  const names = [
    "../up",
    "a/../../b",
    "a//b",
    "./c",
    "new\nline",
    "nul\0",
    `${"l".repeat(30)}`,
    "\ud800",
  ];
  for (const name of names) world.sandbox.put(`${OUTPUTS_FOLDER}/${name}`, "x");
  world.sandbox.put("/etc/passwd", "x");
  world.sandbox.list = async (path, limit) => [
    ...(await list(path, limit)),
    ...(await list("/etc", limit)),
  ];
  expect(await world.collect()).toEqual([]);
});

test("does not believe a sandbox that answers with more or less than was asked", async () => {
  const world = open();
  world.sandbox.put(`${OUTPUTS_FOLDER}/a`, "abc");
  world.sandbox.read = async () => ({ bytes: new Uint8Array(0), size_bytes: 3 });
  expect(await world.collect()).toEqual([]);
  world.sandbox.read = async () => ({ bytes: new Uint8Array(100), size_bytes: 3 });
  expect(await world.collect()).toEqual([]);
});

test("takes nothing from a dead sandbox", async () => {
  const world = open();
  world.sandbox.put(`${OUTPUTS_FOLDER}/a`, "abc");
  world.sandbox.die("killed");
  expect(await world.collect()).toEqual([]);
  expect(world.reports).toEqual(["outputs_not_collected"]);
});

test("takes a file once when two calls end together", async () => {
  const world = open();
  world.sandbox.put(`${OUTPUTS_FOLDER}/a`, "a");
  const { collector, sandbox, ledger } = world;
  const collect = () => collector.collect(sandbox, HAND, never());
  expect(await Promise.all([collect(), collect()])).toEqual([
    { files: 1, bytes: 1 },
    { files: 0, bytes: 0 },
  ]);
  expect(ledger.waiting(HAND.handId)).toMatchObject([{ path: "a", size_bytes: 1 }]);
});

test("stops at an aborted signal and goes on next time", async () => {
  const world = open();
  world.sandbox.put(`${OUTPUTS_FOLDER}/a`, "a");
  expect(await world.collect(AbortSignal.abort())).toEqual([]);
  expect(await world.collect()).toEqual(["a: a"]);
});

test("takes again what was not committed of a hand it was told to forget", async () => {
  const { collector, sandbox, ledger, put } = open();
  const collect = () => collector.collect(sandbox, HAND, never());
  put("a", "a");
  expect(await collect()).toEqual({ files: 1, bytes: 1 });
  await collector.forget(HAND.handId);
  expect(ledger.waiting(HAND.handId)).toEqual([]);
  expect(await collect()).toEqual({ files: 1, bytes: 1 });
});

test("what is still being taken when a hand is forgotten does not come after", async () => {
  const { collector, sandbox, ledger, put, blobs } = open();
  const [begun, stored] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const storing = blobs.put.bind(blobs);
  blobs.put = async (...given) => {
    const blob = await storing(...given);
    begun.resolve();
    await stored.promise;
    return blob;
  };
  put("a", "a");
  const collecting = collector.collect(sandbox, HAND, never());
  await begun.promise;
  const forgotten = collector.forget(HAND.handId);
  stored.resolve();
  await Promise.all([collecting, forgotten]);
  expect(ledger.waiting(HAND.handId)).toEqual([]);
});

test("what is committed is not taken again before its content changes, whoever looks", async () => {
  const { collect, put, start, collector, blobs } = open();
  put("kept", "same");
  put("changed", "old!");
  expect(await collect()).toEqual(["kept: same", "changed: old!"]);
  const sha256 = sha256Of("same");
  expect(await storedIn(blobs)).toContain(sha256);
  await blobs.delete(HAND.workspaceId, sha256);
  // As files that were written again, and as those of a sandbox that came back from elsewhere.
  for (const name of ["kept", "changed"]) put(name, name === "kept" ? "same" : "new!");
  await collector.forget(HAND.handId);
  expect(await collect()).toEqual(["changed: new!"]);
  put("kept", "same");
  const next = start(1);
  expect(await next.collect()).toEqual([]);
  expect(await storedIn(blobs)).not.toContain(sha256);
  put("kept", "else");
  expect(await next.collect()).toEqual(["kept: else"]);
  put("kept", "same");
  expect(await start(1).collect()).toEqual(["kept: same"]);
});

test("what has left the folder is new when it comes back", async () => {
  const { collect, put, sandbox, start } = open();
  put("a", "a");
  await collect();
  sandbox.files.clear();
  expect(await collect()).toEqual([]);
  put("a", "a");
  expect(await start(1).collect()).toEqual(["a: a"]);
});

test("of files that began anew nothing is taken for committed, nor where nobody keeps account", async () => {
  const { collect, put, start } = open();
  put("a", "a");
  await collect();
  expect(await start(1).collect()).toEqual([]);
  expect(await start(2).collect()).toEqual(["a: a"]);
  expect(await start().collect()).toEqual(["a: a"]);
  expect(await start().collect()).toEqual(["a: a"]);
});

test("what goes back to what was committed is taken while anything else may still be", async () => {
  const { collector, ledger, sandbox, put, collect } = open();
  const shown = () => ledger.waiting(HAND.handId).map(({ sha256 }) => sha256);
  put("a", "one");
  await collect();
  put("a", "two");
  await collector.collect(sandbox, HAND, never());
  const [two] = shown();
  put("a", "one");
  await collector.collect(sandbox, HAND, never());
  expect(shown()).toEqual([sha256Of("one")]);
  expect(two).toBe(sha256Of("two"));
});

test("a commit that comes late is not taken for one of what is there by now", async () => {
  const { collector, ledger, sandbox, put, start } = open();
  put("a", "one");
  await collector.collect(sandbox, HAND, never());
  const [one] = ledger.waiting(HAND.handId);
  put("a", "two");
  await collector.collect(sandbox, HAND, never());
  await collector.settle(HAND.handId, one?.found ?? 0);
  expect(await start(1).collect()).toEqual(["a: two"]);
});

test("a note that cannot be read is told of, and everything is taken again", async () => {
  const { collect, put, start, folder, reports, committed } = open();
  put("a", "a");
  await collect();
  writeFileSync(join(folder, `${HAND.handId}.json`), "{");
  expect(await start(1).collect()).toEqual(["a: a"]);
  expect(reports).toEqual(["committed_outputs_unreadable"]);
  await committed.dispose(HAND.handId);
  expect(readdirSync(folder)).toEqual([]);
});

function sha256Of(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

async function storedIn(blobs: MemoryBlobs): Promise<string[]> {
  const all: string[] = [];
  for await (const { sha256 } of blobs.list(Number.POSITIVE_INFINITY)) all.push(sha256);
  return all;
}

test("takes what is settled once two looks found it the same", async () => {
  const world = open();
  const look = () => world.collect(never(), { onlySettled: true });
  world.sandbox.put(`${OUTPUTS_FOLDER}/done`, "done");
  world.sandbox.put(`${OUTPUTS_FOLDER}/log`, "1");
  expect(await look()).toEqual([]);
  world.sandbox.put(`${OUTPUTS_FOLDER}/log`, "2");
  expect(await look()).toEqual(["done: done"]);
  world.sandbox.put(`${OUTPUTS_FOLDER}/log`, "3");
  expect(await look()).toEqual([]);
  expect(await world.collect()).toEqual(["log: 3"]);
  expect(await look()).toEqual([]);
});

test("takes no more than there is room for", async () => {
  const world = open();
  for (const name of ["a", "b", "c"]) world.sandbox.put(`${OUTPUTS_FOLDER}/${name}`, "123");
  const take = (files: number, bytes: number) => world.collect(never(), { room: { files, bytes } });
  expect(await take(0, 100)).toEqual([]);
  expect(await take(1, 100)).toEqual(["a: 123"]);
  expect(await take(100, 5)).toEqual(["b: 123"]);
});

test("takes no further paths while too many wait to be committed", async () => {
  const world = open({ files: 2 });
  const { collector, sandbox, ledger } = world;
  for (const name of ["a", "b", "c"]) {
    sandbox.files.clear();
    sandbox.put(`${OUTPUTS_FOLDER}/${name}`, name);
    await collector.collect(sandbox, HAND, never());
  }
  expect(ledger.waiting(HAND.handId).map(({ path }) => path)).toEqual(["a", "b"]);
  expect(world.reports).toContain("outputs_wait");
  ledger.settle(HAND.handId, 1);
  await collector.collect(sandbox, HAND, never());
  expect(ledger.waiting(HAND.handId).map(({ path }) => path)).toEqual(["b", "c"]);
});

test("what waits is given in its newest state until it is settled up to its place", () => {
  const ledger = new OutputLedger(100);
  const file = (path: string, sha256: string) => ({ path, sha256, size_bytes: 1 });
  const added: string[] = [];
  const off = ledger.onAdded("hand_1", () => added.push("added"));
  for (const [path, sha] of [
    ["a", "1"],
    ["b", "2"],
    ["a", "3"],
  ] as const) {
    ledger.add("hand_1", file(path, sha));
  }
  const newest = [
    { ...file("b", "2"), found: 102 },
    { ...file("a", "3"), found: 103 },
  ];
  expect(ledger.waiting("hand_1")).toEqual(newest);
  expect(ledger.waiting("hand_1", 102)).toEqual(newest.slice(1));
  ledger.settle("hand_1", 101);
  expect(ledger.waiting("hand_1")).toEqual(newest);
  ledger.settle("hand_1", 102);
  expect(ledger.waiting("hand_1")).toEqual(newest.slice(1));
  off();
  ledger.add("hand_1", file("c", "4"));
  expect([added.length, ledger.waiting("hand_2")]).toEqual([3, []]);
});

function open(limits: Partial<OutputLimits> = {}) {
  const blobs = new MemoryBlobs();
  const sandbox = new ScriptedSandbox(HAND.handId);
  const reports: string[] = [];
  const report = (event: string) => reports.push(event);
  const { folder, reopen } = testCommittedOutputs(report);
  /** As another process that finds what those before it have noted. */
  const start = (line?: number) => {
    const ledger = new OutputLedger(0);
    const committed = reopen(() => line);
    const collector = new OutputCollector({ blobs, ledger, committed, limits, report });
    /** What was taken, each as its path and content, and is committed then. */
    const collect = async (signal = never(), options: CollectOptions = {}) => {
      await collector.collect(sandbox, HAND, signal, options);
      const files = ledger.waiting(HAND.handId);
      await collector.settle(HAND.handId, Number.POSITIVE_INFINITY);
      return await Promise.all(
        files.map(async ({ path, sha256 }) => {
          const chunks: Uint8Array[] = [];
          for await (const chunk of (await blobs.get(HAND.workspaceId, sha256)) ?? []) {
            chunks.push(chunk);
          }
          return `${path}: ${Buffer.concat(chunks).toString()}`;
        }),
      );
    };
    return { ledger, committed, collector, collect };
  };
  const put = (name: string, text: string) => sandbox.put(`${OUTPUTS_FOLDER}/${name}`, text);
  return { blobs, sandbox, reports, folder, put, start, ...start(1) };
}

function never(): AbortSignal {
  return new AbortController().signal;
}
