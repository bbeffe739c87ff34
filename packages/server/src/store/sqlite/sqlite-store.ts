import { join } from "node:path";
import type { StoreUnavailableError } from "../../core/errors.ts";
import type { Announcements } from "../../core/ports/announcements.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Store } from "../../core/ports/store.ts";
import { MIGRATIONS_FOLDER, readMigrations } from "../migrate.ts";
import { readersOf } from "../sql-ports.ts";
import { WriteQueue } from "../write-queue.ts";
import { SqliteEngine } from "./sqlite-engine.ts";
import { openReader, openWriter } from "./sqlite-file.ts";
import { SqliteReads } from "./sqlite-reads.ts";

export interface SqliteStoreOptions {
  /** The database is the file `drover.db` in it; made with mode 0700 if it is not there. */
  readonly dataFolder: string;
  readonly clock: Clock;
  readonly announcements: Pick<Announcements, "publish">;
  /** Called once when writing begins to fail, and once when it works again. */
  readonly onFailure?: (error: StoreUnavailableError) => void;
  readonly onRecovery?: () => void;
  /** Where the numbered migrations are; beside the code unless told. */
  readonly migrationsFolder?: string;
  /** Takes appends of whoever appends, with or without the lease. For the fault campaign only. */
  readonly unsafeIgnoreFence?: boolean;
}

/**
 * Opens the store that keeps everything in one SQLite file. Throws, with a sentence that says what to
 * do, if a newer Drover wrote the file. One process may have it open at a time; the caller sees to that.
 */
export function openSqliteStore(options: SqliteStoreOptions): Store {
  const file = join(options.dataFolder, "drover.db");
  const migrations = readMigrations(options.migrationsFolder ?? MIGRATIONS_FOLDER);
  const writer = openWriter(file, migrations);
  const reader = openReader(file);
  const queue = new WriteQueue({
    engine: new SqliteEngine(writer, options.clock, options.unsafeIgnoreFence !== true),
    publish: (announcement) => options.announcements.publish(announcement),
    onFailure: options.onFailure ?? (() => undefined),
    onRecovery: options.onRecovery ?? (() => undefined),
  });
  return {
    ...readersOf(new SqliteReads({ writer, reader })),
    write: (work) => queue.write(work),
    writeUnsynced: (work) => queue.write(work, false),
    failure: () => queue.failure(),
    close: async () => {
      await queue.close();
      reader.close();
      writer.close();
    },
  };
}
