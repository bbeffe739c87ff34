import { createTestDatabase, type TestDatabase } from "@drover/testing";
import type { Announcement } from "../../core/ports/announcements.ts";
import { START, type TestStore } from "../../core/ports/store.testsuite.ts";
import { openPostgresStore } from "./postgres-store.ts";

/** Databases that are empty again: making one takes longer than most tests. They go with the server. */
const free: TestDatabase[] = [];

/** A store on a database that nobody else uses meanwhile. */
export async function openTestStore(): Promise<TestStore & { readonly database: TestDatabase }> {
  const database = free.pop() ?? (await createTestDatabase());
  const time = { now: START };
  const heard: Announcement[] = [];
  const store = await openPostgresStore({
    url: database.url,
    clock: { now: () => time.now, sleepUntil: async () => undefined },
    announcements: { publish: (announcement) => heard.push(announcement) },
  });
  return {
    store,
    time,
    heard,
    database,
    [Symbol.asyncDispose]: async () => {
      await store.close();
      await empty(database);
      free.push(database);
    },
  };
}

async function empty(database: TestDatabase): Promise<void> {
  const tables = await database.query(
    "select tablename from pg_tables where schemaname = 'public' and tablename <> 'migrations'",
  );
  const statements = tables.map(({ tablename }) => `delete from ${tablename}`);
  await database.query(statements.join(";"));
}
