import { openPostgresStore } from "./postgres-store.ts";

/** A program that opens the database of its argument, with the migrations in the folder of the next. */
const [, , url = "", migrationsFolder = ""] = process.argv;
const store = await openPostgresStore({
  url,
  clock: { now: () => Date.now(), sleepUntil: async () => undefined },
  announcements: { publish: () => undefined },
  migrationsFolder,
});
await store.close();
