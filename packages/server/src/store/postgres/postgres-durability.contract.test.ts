import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createTestDatabase } from "@drover/testing";
import { expect, test } from "vitest";
import { all, insertSession } from "../../core/ports/store.testsuite.ts";
import { openPostgresStore } from "./postgres-store.ts";

const ROUNDS = 5;
const SESSIONS = 8;

test("keeps every acknowledged event, without gaps, when its process is killed at any moment", async () => {
  await using database = await createTestDatabase();
  const store = await openPostgresStore({
    url: database.url,
    clock: { now: () => Date.now(), sleepUntil: async () => undefined },
    announcements: { publish: () => undefined },
  });
  const keys = await Promise.all(Array.from({ length: SESSIONS }, () => insertSession(store)));
  await store.write(async (tx) => {
    for (const key of keys) await tx.queue.wake(key);
  });
  const acknowledged = new Map(keys.map(({ sessionId }) => [sessionId, [] as string[]]));
  for (let round = 0; round < ROUNDS; round += 1) {
    await appendUntilKilled(database.url, randomInt(1, 300), acknowledged);
    // What the killed process had begun is over once this one has had its turn.
    await store.write(async () => undefined);
    for (const key of keys) {
      const events = await all(store, key);
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
      const lines = acknowledged.get(key.sessionId) ?? [];
      const kept = new Set(events.map(({ seq, id }) => `${seq} ${id}`));
      expect(lines.filter((line) => !kept.has(line))).toEqual([]);
    }
  }
  expect([...acknowledged.values()].filter((lines) => lines.length === 0)).toEqual([]);
  await store.close();
});

/** Runs the child until it has acknowledged so many events, and kills it. */
async function appendUntilKilled(
  url: string,
  events: number,
  acknowledged: ReadonlyMap<string, string[]>,
): Promise<void> {
  const child = spawn(
    process.execPath,
    ["--conditions=drover-source", join(import.meta.dirname, "append-child.testsuite.ts"), url],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const exited = once(child, "exit");
  let count = 0;
  for await (const line of createInterface(child.stdout)) {
    const [sessionId = "", ...rest] = line.split(" ");
    acknowledged.get(sessionId)?.push(rest.join(" "));
    count += 1;
    if (count === events + SESSIONS) child.kill("SIGKILL");
  }
  await exited;
  expect(child.signalCode).toBe("SIGKILL");
}
