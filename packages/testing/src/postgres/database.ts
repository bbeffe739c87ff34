import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import pg from "pg";
import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the PostgreSQL server of this run is, or the sentence that says why there is none. */
    postgres: { socketFolder: string; logFile: string } | { missing: string };
  }
}

export interface TestDatabase extends AsyncDisposable {
  /** As `DROVER_DATABASE` takes it. */
  readonly url: string;
  /** Runs statements as the owner of the server, on a connection of their own. */
  query(text: string): Promise<readonly pg.QueryResultRow[]>;
}

const START_MS = 50_000;
const LOOK_MS = 50;

/**
 * A new, empty database on the PostgreSQL server of this test run; it goes with its last user's
 * connections when it is disposed of. Rejects with a sentence if this machine has no PostgreSQL.
 */
export async function createTestDatabase(): Promise<TestDatabase> {
  const server = inject("postgres");
  if ("missing" in server) throw new Error(server.missing);
  await startedUp(server);
  // Not by the number of this process, which another of the same run may have had before.
  const name = `test_${randomBytes(8).toString("hex")}`;
  const admin = postgresUrl(server.socketFolder, "postgres");
  const url = postgresUrl(server.socketFolder, name);
  await queryPostgres(admin, `create database ${name}`);
  return {
    url,
    query: (text) => queryPostgres(url, text),
    [Symbol.asyncDispose]: async () => {
      await queryPostgres(admin, `drop database if exists ${name} with (force)`);
    },
  };
}

/** The server may still be starting: it was begun when the run began. */
async function startedUp({ socketFolder, logFile }: { socketFolder: string; logFile: string }) {
  const deadline = Date.now() + START_MS;
  for (;;) {
    try {
      return await queryPostgres(postgresUrl(socketFolder, "postgres"), "select 1");
    } catch (error) {
      if (Date.now() > deadline) {
        const log = await readFile(logFile, "utf8").catch(() => "");
        throw new Error(`PostgreSQL did not start:\n${log.slice(-2_000)}`, { cause: error });
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }
}

/** As `DROVER_DATABASE` takes it, of a database on the server whose socket is in the folder. */
export function postgresUrl(socketFolder: string, database: string): string {
  return `postgres://drover@localhost/${database}?host=${encodeURIComponent(socketFolder)}`;
}

/** Runs one statement on a connection of its own; `$1` and so on are the values. */
export async function queryPostgres(
  url: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly pg.QueryResultRow[]> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  try {
    return (await client.query(text, [...values])).rows;
  } finally {
    await client.end();
  }
}
