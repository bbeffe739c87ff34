import { execFile, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { all, insertSession } from "../../core/ports/store.testsuite.ts";
import { openTestStore } from "./open-test-store.testsuite.ts";
import { openSqliteStore } from "./sqlite-store.ts";

const ROUNDS = 5;
const SESSIONS = 8;

interface Acknowledged {
  readonly seq: number;
  readonly id: string;
}

test("keeps every acknowledged event, without gaps, when its process is killed at any moment", async () => {
  await using world = await openTestStore();
  const keys = await Promise.all(
    Array.from({ length: SESSIONS }, () => insertSession(world.store)),
  );
  await world.store.write(async (tx) => {
    for (const key of keys) await tx.queue.wake(key);
  });
  await world.store.close();
  const acknowledged = new Map(keys.map(({ sessionId }) => [sessionId, [] as Acknowledged[]]));
  for (let round = 0; round < ROUNDS; round += 1) {
    await appendUntilKilled(world.dataFolder, randomInt(1, 800), acknowledged);
    const store = reopen(world.dataFolder);
    for (const key of keys) {
      const events = await all(store, key);
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
      const ids = acknowledged.get(key.sessionId)?.map(({ seq }) => events[seq - 1]?.id);
      expect(ids).toEqual(acknowledged.get(key.sessionId)?.map(({ id }) => id));
    }
    await store.close();
  }
  expect([...acknowledged.values()].filter((events) => events.length === 0)).toEqual([]);
  const database = new Database(join(world.dataFolder, "drover.db"), { readonly: true });
  expect(database.pragma("integrity_check", { simple: true })).toBe("ok");
  database.close();
});

test("loses nothing on a disk that is full, says why, and goes on once there is room", async () => {
  const folder = await temporaryFolder();
  const output = await onSmallDisk(folder, "full-disk-child.testsuite.ts");
  const report: unknown = JSON.parse(output);
  const { acknowledged } = report as { acknowledged: number };
  expect(acknowledged).toBeGreaterThan(3);
  expect(report).toEqual({
    acknowledged,
    whileFull: {
      refused: true,
      failure: expect.stringContaining("full"),
      probeFails: true,
      readable: acknowledged,
    },
    told: [expect.stringContaining("full"), "recovered"],
    blobs: { refused: true, leftovers: 0, stored: 600_000 },
    afterwards: { failure: null },
    kept: acknowledged + 1,
    gapless: true,
  });
});

function reopen(dataFolder: string) {
  return openSqliteStore({
    dataFolder,
    clock: { now: () => Date.now(), sleepUntil: async () => undefined },
    announcements: { publish: () => undefined },
  });
}

/** Runs the child until it has acknowledged so many events, and for as long as a kill takes. */
async function appendUntilKilled(
  dataFolder: string,
  count: number,
  acknowledged: ReadonlyMap<string, Acknowledged[]>,
): Promise<void> {
  const child = spawn(process.execPath, programArgs("append-child.testsuite.ts", dataFolder), {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const exited = once(child, "exit");
  let left = count;
  for await (const line of createInterface({ input: child.stdout })) {
    const [sessionId = "", seq, id = ""] = line.split(" ");
    // A pipe takes a line of this length whole or not at all, so none is cut off by the kill.
    acknowledged.get(sessionId)?.push({ seq: Number(seq), id });
    left -= 1;
    if (left === 0) child.kill("SIGKILL");
  }
  expect(await exited).toEqual([null, "SIGKILL"]);
}

/** Runs a program with 4 MB of its own at the folder, in a mount namespace that ends with it. */
async function onSmallDisk(folder: string, program: string): Promise<string> {
  const script = 'mount -t tmpfs -o size=4m tmpfs "$1" && shift && exec "$@"';
  const command = [process.execPath, ...programArgs(program, folder)];
  const args = ["--map-root-user", "--mount", "sh", "-c", script, "sh", folder, ...command];
  const { stdout } = await promisify(execFile)("unshare", args);
  return stdout;
}

function programArgs(program: string, folder: string): readonly string[] {
  return ["--conditions=drover-source", join(import.meta.dirname, program), folder];
}

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "drover-store-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}
