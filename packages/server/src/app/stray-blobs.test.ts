import { expect, onTestFinished, test } from "vitest";
import { ManualClock } from "../hands/fake/manual-clock.ts";
import { MemoryBlobs } from "../store/memory-blobs.ts";
import { openMemoryStore } from "../store/sqlite/memory-store.testsuite.ts";
import { INSTALLED_WORKSPACE } from "./installed-skills.ts";
import { noteStrayBlobs } from "./stray-blobs.ts";

const workspaceId = "wrkspc_a";
const minute = 60_000;
const day = 24 * 60 * minute;

function world() {
  const clock = new ManualClock();
  const store = openMemoryStore({ clock, announcements: { publish: () => undefined } });
  const blobs = new MemoryBlobs(() => clock.now());
  const put = async (text: string, workspace = workspaceId) => {
    async function* content() {
      yield Buffer.from(text);
    }
    return (await blobs.put(workspace, content())).sha256;
  };
  const loose = async () => {
    const found = await store.write((tx) => tx.looseBlobs.list("9999-01-01T00:00:00Z", 1_000));
    return found.map(({ sha256 }) => sha256);
  };
  const stop = new AbortController();
  const done = noteStrayBlobs({ store, blobs, clock }, stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await done;
  });
  /** Lets a time pass, and what it wakes come to rest. */
  const pass = async (ms: number) => {
    await expect.poll(() => clock.sleepers).toBe(1);
    await clock.advance(ms);
    await expect.poll(() => clock.sleepers).toBe(1);
  };
  return { store, put, loose, pass };
}

test("content that nothing ever referred to is noted a day after it was stored, at the latest in two", async () => {
  const { put, loose, pass } = world();
  const stray = await put("stray");
  await pass(15 * minute);
  expect(await loose()).toEqual([]);
  await pass(day);
  expect(await loose()).toEqual([stray]);
});

test("content that a file has, that ships along, or that was stored again is left alone", async () => {
  const { store, put, loose, pass } = world();
  const [kept, again] = [await put("kept"), await put("again")];
  await put("installed", INSTALLED_WORKSPACE);
  await store.write((tx) =>
    tx.files.insert({
      workspace_id: workspaceId,
      id: "file_1",
      filename: "a.txt",
      mime_type: "text/plain",
      size_bytes: 1,
      sha256: kept,
      created_at: tx.now,
      expires_at: null,
      session_id: null,
      downloadable: false,
      output_path: null,
    }),
  );
  await pass(15 * minute);
  await put("again");
  await pass(day);
  expect(await loose()).toEqual([]);
  await pass(day);
  expect(await loose()).toEqual([again]);
});

test("all of it is gone through, however much it is", async () => {
  const { put, loose, pass } = world();
  const strays = new Set<string>();
  for (let number = 0; number < 200; number += 1) strays.add(await put(`stray ${number}`));
  await pass(15 * minute);
  await pass(day);
  expect(new Set(await loose())).toEqual(strays);
});
