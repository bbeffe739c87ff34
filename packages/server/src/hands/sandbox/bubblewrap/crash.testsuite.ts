import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { startOn } from "../../../core/ports/sandbox.testsuite.ts";
import type { FailPoint } from "../../../lib/fail-point.ts";
import { mustHaveGroups } from "./limits-world.testsuite.ts";
import { type BubblewrapWorld, openBubblewrapWorld } from "./test-world.ts";

const PROVIDER = pathToFileURL(join(import.meta.dirname, "bubblewrap-provider.ts")).href;
const FAIL_POINTS = pathToFileURL(join(import.meta.dirname, "../../../lib/fail-point.ts")).href;

/** A process that owns a sandbox which writes without pause. */
const OWNER = `
const { BubblewrapProvider } = await import(${JSON.stringify(PROVIDER)});
const provider = new BubblewrapProvider({ dataFolder: process.argv[1], blobPath: () => "" });
const { signal } = new AbortController();
const recipe = { provider: "bubblewrap", base: { type: "host" }, mounts: [], network: { type: "none" } };
const sandbox = await provider.provision({ workspaceId: "w", handId: "hand_owned", recipe }, signal);
const command = "for i in 1 2 3; do (trap '' TERM HUP; setsid sh -c 'while :; do echo . >> /workspace/beat; done' &) ; done; sleep 600";
sandbox.exec({ command, timeoutMs: 600000 }, () => {}, signal).catch(() => {});
while (!(await sandbox.stat("/workspace/beat"))) await new Promise((resolve) => setTimeout(resolve, 5));
console.log("writing");
`;

/** A process that dies at a point of the making of a sandbox. */
const DYING = `
const { BubblewrapProvider } = await import(${JSON.stringify(PROVIDER)});
const { armFailPoint } = await import(${JSON.stringify(FAIL_POINTS)});
const [dataFolder, name] = process.argv.slice(1);
const provider = new BubblewrapProvider({ dataFolder, blobPath: () => "" });
armFailPoint({ name, nth: 1 });
const recipe = { provider: "bubblewrap", base: { type: "host" }, mounts: [], network: { type: "none" } };
await provider.provision({ workspaceId: "w", handId: "hand_dying", recipe }, new AbortController().signal);
`;

function groupsIn(record: { groups?: unknown }): readonly string[] {
  const groups = z.array(z.string()).default([]).parse(record.groups);
  const expected = mustHaveGroups();
  if (expected !== undefined) expect(groups.length > 0).toBe(expected);
  return groups;
}

function identity(pid: number): { boot_id: string; start_time: string | undefined } {
  const boot_id = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  const start_time = readFileSync(`/proc/${pid}/stat`, "latin1")
    .replace(/.*\) /, "")
    .split(" ")[19];
  return { boot_id, start_time };
}

/** What holds when the process that owns sandboxes is killed. Run for every mode. */
export function testCrashes(mode: string): void {
  describe(`sandboxes of a process that was killed (${mode})`, () => {
    let world: BubblewrapWorld;
    beforeAll(async () => {
      world = await openBubblewrapWorld();
    });
    afterAll(async () => world[Symbol.asyncDispose]());

    async function killOwner(): Promise<void> {
      const options = ["--conditions=source", "--input-type=module", "-e", OWNER, world.folder];
      const owner = spawn(process.execPath, options, { stdio: ["ignore", "pipe", "inherit"] });
      await new Promise((resolve, reject) => {
        owner.stdout.once("data", resolve);
        owner.once("exit", () => reject(new Error("the owner ended early")));
      });
      owner.kill("SIGKILL");
    }

    test("are gone, with all their processes, before the hand's next one is there", async () => {
      await killOwner();
      await using box = await startOn(world.another(), { hand: "hand_owned" });
      const before = await box.sandbox.stat("/workspace/beat");
      expect(before?.size_bytes).toBeGreaterThan(0);
      await box.sh("sleep 0.3");
      expect(await box.sandbox.stat("/workspace/beat")).toEqual(before);
    });

    test("are gone when `reap` says so", async () => {
      await killOwner();
      const record = JSON.parse(
        readFileSync(join(world.folder, "hands/hand_owned/sandbox.json"), "utf8"),
      );
      await world.another().reap();
      const stat = existsSync(`/proc/${record.pid}/stat`)
        ? readFileSync(`/proc/${record.pid}/stat`, "latin1")
        : "";
      expect(stat === "" || stat.includes(") Z ") || !stat.includes(` ${record.start_time} `)).toBe(
        true,
      );
      expect(existsSync(join(world.folder, "hands/hand_owned/sandbox.json"))).toBe(false);
      expect(groupsIn(record).filter((folder) => existsSync(folder))).toEqual([]);
    });

    test.each<FailPoint>([
      "hands.provision.after_group",
      "hands.provision.after_launch",
      "hands.provision.after_record",
    ])("leave no control group behind that was made before %s", async (point) => {
      const options = ["--conditions=source", "--input-type=module", "-e", DYING];
      const owner = spawn(process.execPath, [...options, world.folder, point], {
        stdio: ["ignore", "ignore", "inherit"],
      });
      const signal = await new Promise((resolve) => owner.once("exit", (_, by) => resolve(by)));
      expect(signal).toBe("SIGKILL");
      const file = join(world.folder, "hands/hand_dying/sandbox.json");
      const groups = groupsIn(JSON.parse(readFileSync(file, "utf8")));
      expect(groups.filter((folder) => !existsSync(folder))).toEqual([]);
      await world.another().reap();
      expect(groups.filter((folder) => existsSync(folder))).toEqual([]);
      expect(existsSync(file)).toBe(false);
    });

    test("die by themselves", async () => {
      await killOwner();
      const record = JSON.parse(
        readFileSync(join(world.folder, "hands/hand_owned/sandbox.json"), "utf8"),
      );
      while (existsSync(`/proc/${record.pid}`)) {
        if (readFileSync(`/proc/${record.pid}/stat`, "latin1").includes(") Z ")) break;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    });
  });

  describe(`records of sandboxes (${mode})`, () => {
    let world: BubblewrapWorld;
    beforeAll(async () => {
      world = await openBubblewrapWorld();
    });
    afterAll(async () => world[Symbol.asyncDispose]());

    function plantRecord(record: unknown): string {
      const folder = join(world.folder, "hands", "hand_planted");
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "sandbox.json"), JSON.stringify(record));
      return folder;
    }

    test("never kill a process that only has the same pid", async () => {
      const bystander = spawn("/bin/sleep", ["600"], { stdio: "ignore" });
      const exited = new Promise((resolve) =>
        bystander.once("exit", (_, signal) => resolve(signal)),
      );
      const boot_id = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
      plantRecord({ pid: bystander.pid, start_time: "1", boot_id });
      await world.another().reap();
      plantRecord({ pid: bystander.pid, start_time: "1", boot_id: "another boot" });
      await world.another().reap();
      bystander.kill("SIGTERM");
      expect(await exited).toBe("SIGTERM");
    });

    test("never kill a process that only names the launch", async () => {
      const launch_id = "0123456789abcdef".repeat(2);
      const command = ["-c", "sleep 600; :", "looking", "for", launch_id];
      const bystander = spawn("/bin/sh", command, { stdio: "ignore", detached: true });
      const { pid = 0 } = bystander;
      const exited = new Promise((resolve) =>
        bystander.once("exit", (_, signal) => resolve(signal)),
      );
      const folder = plantRecord({ boot_id: identity(pid).boot_id, launch_id, since: "0" });
      await world.another().reap();
      expect(existsSync(join(folder, "sandbox.json"))).toBe(false);
      process.kill(-pid, "SIGTERM");
      expect(await exited).toBe("SIGTERM");
    });

    test("are understood as they were before launches had ids", async () => {
      const left = spawn("/bin/sleep", ["600"], { stdio: "ignore" });
      const exited = new Promise((resolve) => left.once("exit", (_, signal) => resolve(signal)));
      const { boot_id, start_time } = identity(left.pid ?? 0);
      plantRecord({ pid: left.pid, start_time, boot_id });
      await world.another().reap();
      expect(await exited).toBe("SIGKILL");
    });

    test("that cannot be read stop the hand, and no other", async () => {
      await using box = await startOn(world.provider);
      plantRecord({ pid: "x" });
      await expect(world.another().reap()).rejects.toThrow("is not proved gone");
      expect(await box.sandbox.closed).toMatch(/\w/);
      const made = startOn(world.provider, { hand: "hand_planted" });
      await expect(made).rejects.toThrow("is not proved gone");
      plantRecord({ pid: 2, start_time: "1", boot_id: "another boot" });
    });

    test("of another installation are left alone", async () => {
      await using other = await openBubblewrapWorld();
      await using box = await startOn(other.provider);
      await world.provider.reap();
      expect((await box.sh("echo alive")).output).toBe("alive\n");
    });
  });
}
