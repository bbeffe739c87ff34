import { join } from "node:path";
import Database from "better-sqlite3";
import { testEncryption } from "../../core/ports/encryption.testsuite.ts";
import { testEventLog } from "../../core/ports/event-log.testsuite.ts";
import { testLooseBlobs } from "../../core/ports/loose-blobs.testsuite.ts";
import { testMemoryStores } from "../../core/ports/memory-stores.testsuite.ts";
import { testRecords } from "../../core/ports/records.testsuite.ts";
import { testSessionQueue } from "../../core/ports/session-queue.testsuite.ts";
import { testSessions } from "../../core/ports/sessions.testsuite.ts";
import { testStore, testStoreFailure } from "../../core/ports/store.testsuite.ts";
import { testVaults } from "../../core/ports/vaults.testsuite.ts";
import { openTestStore } from "./open-test-store.testsuite.ts";

testStore(openTestStore);
testStoreFailure(async () => {
  const world = await openTestStore();
  return {
    ...world,
    // A full disk is in the tests of durability; here somebody looks into the file and forgets it.
    breakWrites: async () => {
      const intruder = new Database(join(world.dataFolder, "drover.db"));
      intruder.exec("begin immediate");
      return async () => void intruder.close();
    },
  };
});
testEventLog(openTestStore);
testSessions(openTestStore);
testSessionQueue(openTestStore);
testRecords(openTestStore);
testLooseBlobs(openTestStore);
testMemoryStores(openTestStore);
testVaults(openTestStore);
testEncryption(openTestStore);
