import { testStoreFailure } from "../../core/ports/store.testsuite.ts";
import { testStorePorts } from "../../core/ports/store-suites.testsuite.ts";
import { openTestStore } from "./open-test-store.testsuite.ts";

testStorePorts(openTestStore);
testStoreFailure(async () => {
  const world = await openTestStore();
  const { database } = world;
  const name = new URL(database.url).pathname.slice(1);
  return {
    ...world,
    // As after a failover: the server that was the primary one may only be read.
    breakWrites: async () => {
      await database.query(`
        alter database ${name} set default_transaction_read_only = on;
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = '${name}' and pid <> pg_backend_pid()`);
      return async () => {
        await database.query(`
          begin read write;
          alter database ${name} set default_transaction_read_only = off;
          commit`);
      };
    },
  };
});
