import { postgresUrl, queryPostgres } from "@drover/testing";
import { until } from "./processes.ts";

/** By its path, because it is a script and no module of a package. */
const SCRIPT = "../../scripts/lib/vitest-postgres.js";
const START_MS = 30_000;

/** A PostgreSQL server for one campaign. */
export interface Postgres {
  /** Makes an empty database; its URL as `DROVER_DATABASE` takes it. */
  newDatabase(): Promise<string>;
  stop(): Promise<void>;
}

type Provided = { readonly socketFolder: string } | { readonly missing: string };

/** Rejects with a sentence if this machine has no PostgreSQL. */
export async function startPostgres(): Promise<Postgres> {
  const { setup } = await import(SCRIPT);
  const provided: Provided[] = [];
  const stop: (() => Promise<void>) | undefined = setup({
    provide: (_name: string, server: Provided) => provided.push(server),
  });
  const [server = { missing: "PostgreSQL was not started." }] = provided;
  if ("missing" in server) throw new Error(server.missing);
  const url = postgresUrl(server.socketFolder, "postgres");
  const isUp = await until(() => answers(url), START_MS);
  if (!isUp) throw new Error("PostgreSQL did not start");
  let count = 0;
  return {
    newDatabase: async () => {
      count += 1;
      await queryPostgres(url, `create database faults_${count}`);
      return postgresUrl(server.socketFolder, `faults_${count}`);
    },
    stop: async () => await stop?.(),
  };
}

async function answers(url: string): Promise<boolean> {
  try {
    await queryPostgres(url, "select 1");
    return true;
  } catch {
    // It may still be starting.
    return false;
  }
}
