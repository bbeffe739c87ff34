import { expect, onTestFinished, test } from "vitest";
import type { Blobs } from "../core/ports/blobs.ts";
import { ManualClock } from "../hands/fake/manual-clock.ts";
import { openMemoryStore } from "../store/sqlite/memory-store.testsuite.ts";
import { collectBlobs } from "./blob-collector.ts";

const workspaceId = "wrkspc_a";
const minute = 60_000;

function world() {
  const clock = new ManualClock();
  const store = openMemoryStore({ clock, announcements: { publish: () => undefined } });
  const deleted: string[] = [];
  const broken = new Set<string>();
  const blobs: Pick<Blobs, "delete"> = {
    delete: async (_, sha256, options) => {
      if (broken.has(sha256)) throw new Error(`${sha256} cannot be deleted`);
      deleted.push(`${sha256} ${(clock.now() - (options?.putBefore ?? 0)) / minute}`);
    },
  };
  const loosen = (...sha256s: readonly string[]) =>
    store.write(async (tx) => {
      for (const sha256 of sha256s) await tx.looseBlobs.add(workspaceId, sha256);
    });
  const loose = async () => {
    const found = await store.write((tx) => tx.looseBlobs.list("9999-01-01T00:00:00Z", 100));
    return found.map(({ sha256 }) => sha256);
  };
  /** A process that collects until it is told to stop. */
  const start = () => {
    const stop = new AbortController();
    const done = collectBlobs({ store, blobs, clock }, stop.signal);
    onTestFinished(async () => {
      stop.abort();
      await done.catch(() => undefined);
    });
    return { stop: () => stop.abort(), done };
  };
  /** Lets minutes pass one by one, each with time for what it wakes. */
  const pass = async (minutes: number) => {
    for (let passed = 0; passed < minutes; passed += 1) {
      await expect.poll(() => clock.sleepers).toBe(1);
      await clock.advance(minute);
    }
  };
  return { clock, store, deleted, broken, loosen, loose, start, pass };
}

test("content that nothing refers to is deleted, but not at once", async () => {
  const { deleted, loosen, loose, start, pass } = world();
  start();
  await loosen("a", "b");
  await pass(10);
  await expect.poll(loose).toEqual(["a", "b"]);
  expect(deleted).toEqual([]);
  await pass(1);
  await expect.poll(loose).toEqual([]);
  expect(deleted).toEqual(["a 11", "b 11"]);
});

test("content that a file has again by then is kept", async () => {
  const { store, deleted, loosen, loose, start, pass } = world();
  start();
  await loosen("a", "b");
  await store.write((tx) =>
    tx.files.insert({
      workspace_id: workspaceId,
      id: "file_1",
      filename: "a.txt",
      mime_type: "text/plain",
      size_bytes: 1,
      sha256: "a",
      created_at: tx.now,
      expires_at: null,
      session_id: null,
      downloadable: false,
      output_path: null,
    }),
  );
  await pass(11);
  await expect.poll(loose).toEqual([]);
  expect(deleted).toEqual(["b 11"]);
});

test("the content of a file that has expired goes, and the file stays", async () => {
  const { clock, store, deleted, start, pass } = world();
  start();
  const file = {
    workspace_id: workspaceId,
    id: "file_1",
    filename: "a.txt",
    mime_type: "text/plain",
    size_bytes: 1,
    sha256: "a",
    created_at: new Date(clock.now()).toISOString(),
    expires_at: new Date(clock.now() + 12 * minute).toISOString(),
    session_id: null,
    downloadable: false,
    output_path: null,
  };
  await store.write((tx) => tx.files.insert(file));
  await pass(22);
  expect(deleted).toEqual([]);
  await pass(3);
  await expect.poll(() => deleted).toHaveLength(1);
  expect(await store.files.find(workspaceId, "file_1")).toEqual({ ...file, sha256: "" });
});

test("what waits when a process ends is collected by the next, some time after its start", async () => {
  const { clock, deleted, loosen, loose, start, pass } = world();
  const first = start();
  await loosen("a");
  await pass(5);
  first.stop();
  await first.done;
  await clock.advance(60 * minute);
  expect(deleted).toEqual([]);
  start();
  await pass(9);
  expect(await loose()).toEqual(["a"]);
  await pass(1);
  await expect.poll(loose).toEqual([]);
  expect(deleted).toEqual(["a 75"]);
});

test("content that cannot be deleted is said, and keeps no other waiting", async () => {
  const { deleted, broken, loosen, loose, start, pass } = world();
  broken.add("a");
  await loosen("a", "b");
  const { done } = start();
  const failed = expect(done).rejects.toThrow("a cannot be deleted");
  await pass(10);
  await expect.poll(loose).toEqual(["a", "b"]);
  await pass(1);
  await failed;
  expect(await loose()).toEqual(["b", "a"]);
  start();
  await pass(10);
  await expect.poll(() => deleted).toEqual(["b 21"]);
});
