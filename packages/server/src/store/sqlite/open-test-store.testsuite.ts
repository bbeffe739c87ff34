import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Announcement } from "../../core/ports/announcements.ts";
import { START, type TestStore } from "../../core/ports/store.testsuite.ts";
import { openSqliteStore } from "./sqlite-store.ts";

/** A store on a real file, in a folder of its own that goes with it. */
export async function openTestStore(): Promise<TestStore & { readonly dataFolder: string }> {
  const folder = await mkdtemp(join(tmpdir(), "drover-store-"));
  const dataFolder = join(folder, "data");
  const time = { now: START };
  const heard: Announcement[] = [];
  const store = openSqliteStore({
    dataFolder,
    clock: { now: () => time.now, sleepUntil: async () => undefined },
    announcements: { publish: (announcement) => heard.push(announcement) },
  });
  return {
    store,
    time,
    heard,
    dataFolder,
    [Symbol.asyncDispose]: async () => {
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
}
