import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startOn } from "../../../core/ports/sandbox.testsuite.ts";
import { type BubblewrapWorld, openBubblewrapWorld } from "./test-world.ts";

function identity(pid: number): { boot_id: string; start_time: string | undefined } {
  const boot_id = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  const start_time = readFileSync(`/proc/${pid}/stat`, "latin1")
    .replace(/.*\) /, "")
    .split(" ")[19];
  return { boot_id, start_time };
}

/** What the records of earlier processes may and may not lead to. Run for every mode. */
export function testRecords(mode: string): void {
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
  });
}
