import pg from "pg";
import { type Migration, pendingMigrations } from "../migrate.ts";
import { connectionOptions } from "./postgres-options.ts";
import { toPostgres } from "./translate.ts";

/** Held by the one server that migrates; the others wait for it. */
const MIGRATION_LOCK = 376838;
/** A migration may take its time, and so may the wait for another server's. */
const PATIENCE_MS = 10 * 60_000;

/** Brings the schema up to date, each migration in a transaction, however many servers start at once. */
export async function migrate(url: string, migrations: readonly Migration[]): Promise<void> {
  const client = new pg.Client({
    ...connectionOptions(url),
    statement_timeout: PATIENCE_MS,
    lock_timeout: PATIENCE_MS,
    query_timeout: PATIENCE_MS,
  });
  // The statement that was under way is rejected with it.
  client.on("error", () => undefined);
  await client.connect();
  try {
    await client.query(`select pg_advisory_lock(${MIGRATION_LOCK})`);
    await client.query(
      'create table if not exists migrations (version bigint primary key, name text collate "C" not null)',
    );
    const current = await client.query<{ version: number }>(
      "select coalesce(max(version), 0) as version from migrations",
    );
    for (const next of pendingMigrations(migrations, current.rows[0]?.version ?? 0)) {
      await apply(client, next);
    }
  } finally {
    // Which also gives the lock up.
    await client.end();
  }
}

async function apply(client: pg.Client, { version, name, text }: Migration): Promise<void> {
  await client.query("begin");
  await client.query("insert into migrations (version, name) values ($1, $2)", [version, name]);
  await client.query(toPostgres(text));
  await client.query("commit");
}
