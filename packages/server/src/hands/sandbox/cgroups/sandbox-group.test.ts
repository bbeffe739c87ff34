import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { SandboxGroup } from "./sandbox-group.ts";

const MB = 1024 * 1024;
const LIMITS = { memoryBytes: 512 * MB, cpus: 1.5, processes: 64 };
const ALL = ["memory", "cpu", "pids"] as const;

/** A folder with the files that a kernel would have put into a group. */
function groupFolder(files: Readonly<Record<string, string>>): string {
  const parent = mkdtempSync(join(tmpdir(), "drover-group-"));
  onTestFinished(() => rmSync(parent, { recursive: true }));
  const folder = join(parent, "drover-x");
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

const V2 = {
  "memory.max": "",
  "memory.swap.max": "",
  "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n",
  "cpu.max": "",
  "pids.max": "",
  "pids.events": "max 0\n",
};

test("version 2 is told the limits in its files, swap being none", () => {
  const folder = groupFolder(V2);
  new SandboxGroup([{ version: 2, folder, controllers: ALL }], LIMITS).make();
  const read = (name: string) => readFileSync(join(folder, name), "utf8");
  expect(read("memory.max")).toBe(`${512 * MB}\n`);
  expect(read("memory.swap.max")).toBe("0\n");
  expect(read("cpu.max")).toBe("150000 100000\n");
  expect(read("pids.max")).toBe("64\n");
});

test("a kernel that does not count swap is no fault, one that does not take the limit is", () => {
  const { "memory.swap.max": _, ...withoutSwap } = V2;
  const folder = groupFolder(withoutSwap);
  const part = { version: 2, folder, controllers: ALL } as const;
  expect(() => new SandboxGroup([part], LIMITS).make()).not.toThrow();
  rmSync(join(folder, "memory.max"));
  expect(() => new SandboxGroup([part], LIMITS).make()).toThrow("memory.max");
});

test("what was met is told once, and the machine's want is not taken for the sandbox's", () => {
  const folder = groupFolder(V2);
  const group = new SandboxGroup([{ version: 2, folder, controllers: ALL }], LIMITS);
  const put = (name: string, text: string) => writeFileSync(join(folder, name), text);
  expect(group.takeHits()).toEqual([]);
  put("memory.events", "oom 0\noom_kill 1\n");
  expect(group.takeHits()).toEqual([{ type: "machine_memory" }]);
  expect(group.takeHits()).toEqual([]);
  put("memory.events", "oom 1\noom_kill 3\n");
  put("pids.events", "max 7\n");
  expect(group.takeHits()).toEqual([
    { type: "memory", limitBytes: 512 * MB },
    { type: "processes", limit: 64 },
  ]);
});

test("what was counted before the group was removed is told after", () => {
  const folder = groupFolder({ ...V2, "pids.events": "max 2\n" });
  const group = new SandboxGroup([{ version: 2, folder, controllers: ALL }], LIMITS);
  group.observe();
  rmSync(folder, { recursive: true });
  expect(group.takeHits()).toEqual([{ type: "processes", limit: 64 }]);
});

test("version 1 tells by the highest use whose limit it was", () => {
  const use = "memory.max_usage_in_bytes";
  const folder = groupFolder({ "memory.oom_control": "oom_kill 1\n", [use]: `${100 * MB}\n` });
  const part = { version: 1, folder, controllers: ["memory"] } as const;
  expect(new SandboxGroup([part], LIMITS).takeHits()).toEqual([{ type: "machine_memory" }]);
  writeFileSync(join(folder, use), `${511 * MB}\n`);
  expect(new SandboxGroup([part], LIMITS).takeHits()).toEqual([
    { type: "memory", limitBytes: 512 * MB },
  ]);
});
