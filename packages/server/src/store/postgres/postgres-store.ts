import type { StoreUnavailableError } from "../../core/errors.ts";
import type { Announcements } from "../../core/ports/announcements.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Store } from "../../core/ports/store.ts";
import { MIGRATIONS_FOLDER, readMigrations } from "../migrate.ts";
import { readersOf } from "../sql-ports.ts";
import { WriteQueue } from "../write-queue.ts";
import { PostgresEngine } from "./postgres-engine.ts";
import { unavailable } from "./postgres-errors.ts";
import { migrate } from "./postgres-migrate.ts";
import { PostgresReads } from "./postgres-reads.ts";

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string;
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
 * Opens the store that keeps everything in a PostgreSQL database, which several servers may share.
 * Rejects if the database cannot be reached or, with a sentence that says what to do, if a newer
 * Drover wrote it.
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const { url } = options;
  const migrations = readMigrations(options.migrationsFolder ?? MIGRATIONS_FOLDER);
  await migrate(url, migrations).catch((error: unknown) => {
    throw unavailable(error) ?? error;
  });
  const engine = new PostgresEngine(url, options.clock, options.unsafeIgnoreFence !== true);
  const reads = new PostgresReads(url);
  const queue = new WriteQueue({
    engine,
    publish: (announcement) => options.announcements.publish(announcement),
    onFailure: options.onFailure ?? (() => undefined),
    onRecovery: options.onRecovery ?? (() => undefined),
  });
  return {
    ...readersOf(reads),
    write: (work) => queue.write(work),
    writeUnsynced: (work) => queue.write(work, false),
    failure: () => queue.failure(),
    close: async () => {
      await queue.close();
      await Promise.all([engine.close(), reads.close()]);
    },
  };
}
