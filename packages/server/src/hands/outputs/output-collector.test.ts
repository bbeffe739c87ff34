import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { MemoryBlobs } from "../../store/memory-blobs.ts";
import { ScriptedSandbox } from "../fake/scripted-provider.ts";
import { OUTPUTS_FOLDER, OutputCollector, type OutputLimits } from "./output-collector.ts";

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
  expect(await Promise.all([world.collect(), world.collect()])).toEqual([["a: a"], []]);
});

test("stops at an aborted signal and goes on next time", async () => {
  const world = open();
  world.sandbox.put(`${OUTPUTS_FOLDER}/a`, "a");
  expect(await world.collect(AbortSignal.abort())).toEqual([]);
  expect(await world.collect()).toEqual(["a: a"]);
});

test("takes everything again for a hand it was told to forget", async () => {
  const world = open();
  world.sandbox.put(`${OUTPUTS_FOLDER}/a`, "a");
  await world.collect();
  world.collector.forget(HAND.handId);
  expect(await world.collect()).toEqual(["a: a"]);
});

function open(limits: Partial<OutputLimits> = {}) {
  const blobs = new MemoryBlobs();
  const sandbox = new ScriptedSandbox(HAND.handId);
  const reports: string[] = [];
  const collector = new OutputCollector({ blobs, limits, report: (event) => reports.push(event) });
  /** What was taken, each as its path and content. */
  const collect = async (signal = new AbortController().signal) => {
    const files = await collector.collect(sandbox, HAND, signal);
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
  return { blobs, sandbox, reports, collector, collect };
}
