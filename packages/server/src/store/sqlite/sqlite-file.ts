import { chmodSync, closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { type Migration, pendingMigrations } from "../migrate.ts";

/** Milliseconds that opening waits for another process that is just migrating. */
const OPEN_PATIENCE_MS = 5_000;
/** Milliseconds that a write waits for another process's lock: it holds up everything else. */
const WRITE_PATIENCE_MS = 200;
/** Bytes to which the write-ahead log is cut back after a large transaction. */
const WAL_LIMIT = 64 * 1024 * 1024;

/** Opens the connection that writes, makes the file if need be and brings its schema up to date. */
export function openWriter(file: string, migrations: readonly Migration[]): Database.Database {
  makePrivate(file);
  const database = new Database(file, { timeout: OPEN_PATIENCE_MS });
  try {
    // 8 KB pages hold a typical event without overflow: 43 k events/s in groups of 64, 32 k with 4 KB.
    database.pragma("page_size = 8192");
    database.pragma("journal_mode = wal");
    // Not the default in WAL mode: an acknowledged event must survive the machine's power as well.
    database.pragma("synchronous = full");
    // Each work's savepoint keeps the pages it changes; in memory, not in a temporary file.
    database.pragma("temp_store = memory");
    database.pragma(`journal_size_limit = ${WAL_LIMIT}`);
    migrate(database, migrations);
    database.pragma(`busy_timeout = ${WRITE_PATIENCE_MS}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Opens a second connection, which sees what is committed and nothing else. */
export function openReader(file: string): Database.Database {
  return new Database(file, { readonly: true, timeout: WRITE_PATIENCE_MS });
}

/** SQLite gives the files beside the database the permissions of the database. */
function makePrivate(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  closeSync(openSync(file, "a", 0o600));
  chmodSync(file, 0o600);
}

/** Brings the schema up to date. Each migration in its own transaction, which also is the lock between processes that open at once. */
export function migrate(database: Database.Database, migrations: readonly Migration[]): void {
  database
    .transaction(() => {
      database.exec(`create table if not exists migrations (
  version integer primary key,
  name text not null
)`);
    })
    .immediate();
  for (let left = migrations.length; left > 0; left -= 1) {
    const next = database.transaction(() => applyNext(database, migrations)).immediate();
    if (next === undefined) return;
  }
}

function applyNext(
  database: Database.Database,
  migrations: readonly Migration[],
): Migration | undefined {
  const current = database
    .prepare("select coalesce(max(version), 0) from migrations")
    .pluck()
    .get();
  const [next] = pendingMigrations(migrations, Number(current));
  if (next === undefined) return undefined;
  database
    .prepare("insert into migrations (version, name) values (?, ?)")
    .run(next.version, next.name);
  database.exec(next.text);
  return next;
}
