import type { Announcement } from "../../core/ports/announcements.ts";
import { testEventLog } from "../../core/ports/event-log.testsuite.ts";
import { testLooseBlobs } from "../../core/ports/loose-blobs.testsuite.ts";
import { testRecords } from "../../core/ports/records.testsuite.ts";
import { testSessionQueue } from "../../core/ports/session-queue.testsuite.ts";
import { testSessions } from "../../core/ports/sessions.testsuite.ts";
import { START, testStore, testStoreFailure } from "../../core/ports/store.testsuite.ts";
import { MemoryStore } from "./memory-store.ts";

async function open() {
  const time = { now: START };
  const heard: Announcement[] = [];
  const store = new MemoryStore({
    clock: { now: () => time.now, sleepUntil: async () => undefined },
    announcements: { publish: (announcement) => heard.push(announcement) },
  });
  return {
    store,
    time,
    heard,
    breakWrites: async () => {
      store.failWrites("The memory is full, as the test wants it.");
      return async () => store.failWrites(undefined);
    },
    [Symbol.asyncDispose]: () => store.close(),
  };
}

testStore(open);
testStoreFailure(open);
testEventLog(open);
testSessions(open);
testSessionQueue(open);
testRecords(open);
testLooseBlobs(open);
