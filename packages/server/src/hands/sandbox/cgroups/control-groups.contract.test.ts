import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { CONTROLLERS, cgroupLayout } from "./cgroup-layout.ts";
import { ControlGroups } from "./control-groups.ts";
import { removeGroups } from "./remove-groups.ts";

const LIMITS = { memoryBytes: 64 * 1024 * 1024, cpus: 0.5, processes: 32 };
const layout = cgroupLayout(
  readFileSync("/proc/self/cgroup", "utf8"),
  readFileSync("/proc/self/mountinfo", "utf8"),
);

test("where nothing can be made, nothing is limited", () => {
  const folder = mkdtempSync(join(tmpdir(), "drover-groups-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const nowhere of [{ v1: {} }, { v1: {}, v2: { own: folder } }]) {
    const groups = ControlGroups.find("test", LIMITS, nowhere);
    expect(CONTROLLERS.filter((name) => groups.can(name))).toEqual([]);
    expect(groups.plan("x", LIMITS)).toBeUndefined();
  }
  expect(readdirSync(folder)).toEqual([]);
});

test("only what is named as a group of a sandbox is removed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "other-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  await expect(removeGroups([folder], 100)).rejects.toThrow("is not a control group of a sandbox");
  expect(existsSync(folder)).toBe(true);
});

/** Of another installation's process one may be there for a moment; this one's has its own name. */
const TRACE = `trace-${process.pid}`;
const TRIAL = `drover-trial-${createHash("sha256").update(TRACE).digest("hex").slice(0, 16)}`;
const isTrial = (name: string) => name === TRIAL;

const isRootOnV1 = process.getuid?.() === 0 && layout.v1.memory !== undefined;

describe.skipIf(!isRootOnV1)("as root on version 1", () => {
  test("groups are tried without a trace, and made only for limits that are set", () => {
    const groups = ControlGroups.find(TRACE, LIMITS);
    expect(readdirSync(layout.v1.memory ?? "").filter(isTrial)).toEqual([]);
    expect(groups.plan("x", {})).toBeUndefined();
    expect(groups.plan("x", { processes: 32 })?.folders).toEqual([
      join(layout.v1.pids ?? "", "drover-x"),
    ]);
    expect(groups.plan("x", LIMITS)?.folders).toHaveLength(3);
  });

  test("a version 2 that has no controllers to give is not used", () => {
    if (layout.v2 === undefined) return;
    const groups = ControlGroups.find("test", LIMITS, { v1: {}, v2: layout.v2 });
    const given = readFileSync(join(layout.v2.own, "cgroup.controllers"), "utf8").split(/\s/);
    expect(groups.can("memory") && !given.includes("memory")).toBe(false);
  });

  test("a group with a process in it is not taken for gone", async () => {
    const group = ControlGroups.find("test", LIMITS).plan(`test-${process.pid}`, LIMITS);
    const folders = group?.folders ?? [];
    group?.make();
    const child = spawn("/bin/sleep", ["60"], { stdio: "ignore" });
    const exited = new Promise((resolve) => child.once("exit", resolve));
    for (const folder of folders) writeFileSync(join(folder, "cgroup.procs"), `${child.pid}`);
    await expect(removeGroups(folders, 50)).rejects.toThrow("is not empty");
    child.kill("SIGKILL");
    await exited;
    await removeGroups(folders, 10_000);
    expect(folders.filter((folder) => existsSync(folder))).toEqual([]);
    expect(folders).toHaveLength(3);
  });
});
