import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { acquireFileLock } from "./file-lock.ts";

test("gives the lock to one holder at a time", () => {
  const path = freshPath();
  const held = acquireFileLock(path);
  expect(acquireFileLock(path)).toBeUndefined();
  held?.release();
  const next = acquireFileLock(path);
  expect(next?.stillHeld()).toBe(true);
  next?.release();
});

test("makes a file that only its owner can read", () => {
  const path = freshPath();
  acquireFileLock(path)?.release();
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("is not held any more once the file is deleted or replaced", () => {
  const path = freshPath();
  const lock = acquireFileLock(path);
  rmSync(path);
  expect(lock?.stillHeld()).toBe(false);
  writeFileSync(path, "");
  expect(lock?.stillHeld()).toBe(false);
  lock?.release();
});

test("is not held any more once it is released", () => {
  const lock = acquireFileLock(freshPath());
  lock?.release();
  expect(lock?.stillHeld()).toBe(false);
});

test("is held against other processes and dies with its holder, even if its children live", async () => {
  const path = freshPath();
  const holder = await holderProcess(path);
  expect(acquireFileLock(path)).toBeUndefined();
  holder.kill("SIGKILL");
  await once(holder, "exit");
  process.kill(Number(holder.orphan), 0);
  const lock = acquireFileLock(path);
  expect(lock?.stillHeld()).toBe(true);
  lock?.release();
});

test("stays held for other processes when its holder tries to take it twice", async () => {
  const path = freshPath();
  const lock = acquireFileLock(path);
  expect(acquireFileLock(path)).toBeUndefined();
  await expect(holderProcess(path)).rejects.toThrow("no lock");
  expect(lock?.stillHeld()).toBe(true);
  lock?.release();
});

async function holderProcess(path: string): Promise<ChildProcess & { orphan: string }> {
  const lockModule = join(import.meta.dirname, "file-lock.ts");
  const script = `
    import { spawn } from "node:child_process";
    import { acquireFileLock } from ${JSON.stringify(lockModule)};
    const lock = acquireFileLock(${JSON.stringify(path)});
    if (!lock) process.exit(1);
    const orphan = spawn("sleep", ["30"], { stdio: "ignore" });
    process.stdout.write(String(orphan.pid));
    setInterval(() => lock.stillHeld(), 60_000);
  `;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [orphan] = await Promise.race([
    once(child.stdout, "data"),
    once(child, "exit").then(() => Promise.reject(new Error("no lock"))),
  ]);
  onTestFinished(() => {
    process.kill(Number(orphan), "SIGKILL");
    child.kill("SIGKILL");
  });
  return Object.assign(child, { orphan: String(orphan) });
}

function freshPath(): string {
  const folder = mkdtempSync(join(tmpdir(), "drover-lock-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "hands.lock");
}
