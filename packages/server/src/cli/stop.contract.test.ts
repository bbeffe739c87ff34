import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { processStart, writeHandsFile } from "../hands/protocol/hands-file.ts";
import { findServers } from "./server-file.ts";
import { stop } from "./stop.ts";

test("the server of the folder is ended, and its hands only when asked", async () => {
  const data = temporaryFolder();
  const server = await sleeper();
  const hands = await sleeper();
  await publish(data, server, hands);
  expect(await stop({ data, hands: false })).toEqual([`the server (process ${server.pid})`]);
  expect([await isEnded(server), await isEnded(hands)]).toEqual([true, false]);
  expect(await stop({ data, hands: true })).toEqual([
    `the hands (process ${hands.pid}) and their sandboxes`,
  ]);
  expect(await isEnded(hands)).toBe(true);
  expect(await stop({ data, hands: true })).toEqual([]);
});

test("a process that only has the number of an ended server is left alone", async () => {
  const data = temporaryFolder();
  const stranger = await sleeper();
  const file = { pid: stranger.pid, pid_start: "1", url: "http://127.0.0.1:1" };
  writeFileSync(join(data, "server.json"), JSON.stringify(file));
  expect(await findServers(data)).toEqual([]);
  expect(await stop({ data, hands: true })).toEqual([]);
  expect(await isEnded(stranger)).toBe(false);
});

test("a process that is dead but was not reaped by its parent has ended", async () => {
  // The shell starts a process, becomes one that never asks about its children, and prints its number.
  const parent = spawn("sh", ["-c", "sleep 60 & echo $!; exec sleep 60"]);
  onTestFinished(() => {
    parent.kill("SIGKILL");
  });
  const pid = Number(await new Promise((resolve) => parent.stdout.once("data", resolve)));
  const data = temporaryFolder();
  const file = { pid, pid_start: await processStart(pid), url: "http://127.0.0.1:1" };
  writeFileSync(join(data, "server.json"), JSON.stringify(file));
  expect(await stop({ data, hands: false })).toEqual([`the server (process ${pid})`]);
});

async function publish(data: string, server: ChildProcess, hands: ChildProcess): Promise<void> {
  const { pid = 0 } = server;
  const file = { pid, pid_start: await processStart(pid), url: "http://127.0.0.1:1" };
  writeFileSync(join(data, "server.json"), JSON.stringify(file));
  await writeHandsFile(data, {
    installation_id: "inst_test",
    boot: "boot_test",
    pid: hands.pid ?? 0,
    pid_start: await processStart(hands.pid ?? 0),
    address: { type: "port", port: 1 },
    token: "t".repeat(32),
    protocol: 2,
  });
}

/** A real process that ends when it is asked to. */
async function sleeper(): Promise<ChildProcess> {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  await new Promise((resolve) => child.once("spawn", resolve));
  return child;
}

/** Told by the system, because Node may hear of an end later than `stop` does. */
async function isEnded(child: ChildProcess): Promise<boolean> {
  return (await processStart(child.pid ?? 0)) === "";
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "drover-stop-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}
