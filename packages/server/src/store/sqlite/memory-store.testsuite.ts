import Database from "better-sqlite3";
import { StoreUnavailableError } from "../../core/errors.ts";
import type { Store } from "../../core/ports/store.ts";
import { MIGRATIONS_FOLDER, readMigrations } from "../migrate.ts";
import type { SqlRunner } from "../sql.ts";
import { readersOf } from "../sql-ports.ts";
import { WriteQueue } from "../write-queue.ts";
import { SqliteEngine } from "./sqlite-engine.ts";
import { migrate } from "./sqlite-file.ts";
import { SqliteRunner } from "./sqlite-runner.ts";
import type { SqliteStoreOptions } from "./sqlite-store.ts";

export type MemoryStoreOptions = Pick<
  SqliteStoreOptions,
  "clock" | "announcements" | "unsafeIgnoreFence"
>;

export interface MemoryStore extends Store {
  /** Makes every write fail with the sentence, as a full disk does, until it is called with undefined. */
  failWrites(sentence: string | undefined): void;
}

const MIGRATIONS = readMigrations(MIGRATIONS_FOLDER);

/** The SQLite store without a file, for tests that need nothing to outlast them. */
export function openMemoryStore(options: MemoryStoreOptions): MemoryStore {
  const { clock, announcements, unsafeIgnoreFence } = options;
  const database = new Database(":memory:");
  migrate(database, MIGRATIONS);
  const engine = new RefusingEngine(database, clock, unsafeIgnoreFence !== true);
  const queue = new WriteQueue({
    engine,
    publish: (announcement) => announcements.publish(announcement),
    onFailure: () => undefined,
    onRecovery: () => undefined,
  });
  const runner = new SqliteRunner(database);
  // There is one connection, which shows what is not committed while a group of works is open.
  const committed = async (): Promise<SqlRunner> => {
    while (database.inTransaction) await queue.settled();
    return runner;
  };
  return {
    ...readersOf({
      all: async (query) => (await committed()).all(query),
      get: async (query) => (await committed()).get(query),
    }),
    write: (work) => queue.write(work),
    writeUnsynced: (work) => queue.write(work, false),
    failure: () => queue.failure(),
    failWrites: (sentence) => {
      engine.refusal = sentence;
    },
    close: async () => {
      await queue.close();
      database.close();
    },
  };
}

class RefusingEngine extends SqliteEngine {
  refusal: string | undefined;

  override begin(isSynced: boolean): void {
    if (this.refusal !== undefined) throw new StoreUnavailableError(this.refusal);
    super.begin(isSynced);
  }

  override unavailable(error: unknown): StoreUnavailableError | undefined {
    return error instanceof StoreUnavailableError ? error : super.unavailable(error);
  }
}
