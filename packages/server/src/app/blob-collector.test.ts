import { expect, onTestFinished, test } from "vitest";
import type { Blobs } from "../core/ports/blobs.ts";
import { ManualClock } from "../hands/fake/manual-clock.ts";
import { MemoryStore } from "../store/memory/memory-store.ts";
import { createBlobCollector } from "./blob-collector.ts";

const workspaceId = "wrkspc_a";
const minute = 60_000;

function world() {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock, announcements: { publish: () => undefined } });
  const deleted: string[] = [];
  const blobs: Pick<Blobs, "delete"> = {
    delete: async (_, sha256, options) => {
      deleted.push(`${sha256} ${clock.now() - (options?.putBefore ?? 0)}`);
    },
  };
  const collector = createBlobCollector({ store, blobs, clock });
  const stop = new AbortController();
  const done = collector.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await done;
  });
  return { clock, store, collector, deleted, stop, done };
}

test("content that nothing refers to is deleted, but not at once", async () => {
  const { clock, collector, deleted } = world();
  collector.collectLater(workspaceId, ["a", "b"]);
  await clock.advance(9 * minute);
  expect(deleted).toEqual([]);
  await clock.advance(minute);
  await expect.poll(() => deleted).toEqual([`a ${10 * minute}`, `b ${10 * minute}`]);
});

test("content that a file has again by then is kept", async () => {
  const { clock, store, collector, deleted } = world();
  collector.collectLater(workspaceId, ["a", "b"]);
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
  await clock.advance(10 * minute);
  await expect.poll(() => deleted).toEqual([`b ${10 * minute}`]);
});

test("what comes while nothing waits is collected too, and the end is quiet", async () => {
  const { clock, collector, deleted, stop, done } = world();
  await clock.advance(15 * minute);
  collector.collectLater(workspaceId, ["a"]);
  await clock.advance(5 * minute);
  await clock.advance(4 * minute);
  expect(deleted).toEqual([]);
  await clock.advance(minute);
  await expect.poll(() => deleted).toHaveLength(1);
  collector.collectLater(workspaceId, ["b"]);
  stop.abort();
  await done;
  expect(deleted).toHaveLength(1);
});
