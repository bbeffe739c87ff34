import { join } from "node:path";
import Database from "better-sqlite3";
import { testStoreFailure } from "../../core/ports/store.testsuite.ts";
import { testStorePorts } from "../../core/ports/store-suites.testsuite.ts";
import { openTestStore } from "./open-test-store.testsuite.ts";

testStorePorts(openTestStore);
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
