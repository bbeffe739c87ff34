import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createTestDatabase } from "@drover/testing";
import { expect, onTestFinished, test } from "vitest";
import { readMigrations } from "../migrate.ts";
import { migrate } from "./postgres-migrate.ts";

const run = promisify(execFile);

test("applies each migration once, however many processes start together", async () => {
  await using database = await createTestDatabase();
  const folder = migrationsFolder({
    // Slow enough that all are there before the first is done, and wrong if it is applied again.
    "0001-one.sql": "select pg_sleep(1); create table one (a integer primary key, b text);",
    "0002-two.sql": "insert into one (b) values ('once'); create table two (a integer);",
  });
  const child = join(import.meta.dirname, "migrating-child.testsuite.ts");
  const start = () =>
    run(process.execPath, ["--conditions=drover-source", child, database.url, folder], {
      timeout: 60_000,
    });
  await Promise.all([start(), start(), start(), start()]);
  expect(await database.query("select a, b from one")).toEqual([{ a: "1", b: "once" }]);
  expect(await database.query("select version, name from migrations order by version")).toEqual([
    { version: "1", name: "0001-one.sql" },
    { version: "2", name: "0002-two.sql" },
  ]);
});

test("leaves the database at the version before a migration that fails", async () => {
  await using database = await createTestDatabase();
  const folder = migrationsFolder({
    "0001-one.sql": "create table one (a integer);",
    "0002-two.sql": "create table two (b integer); create table one (a integer);",
  });
  await expect(migrate(database.url, readMigrations(folder))).rejects.toThrow("already exists");
  const tables = await database.query(
    "select tablename from pg_tables where schemaname = 'public' order by tablename",
  );
  expect(tables).toEqual([{ tablename: "migrations" }, { tablename: "one" }]);
  expect(await database.query("select version from migrations")).toEqual([{ version: "1" }]);
});

test("refuses a database that a newer version wrote, and leaves it alone", async () => {
  await using database = await createTestDatabase();
  const folder = migrationsFolder({
    "0001-one.sql": "create table one (a integer);",
    "0002-two.sql": "create table two (b integer);",
  });
  const migrations = readMigrations(folder);
  await migrate(database.url, migrations);
  await expect(migrate(database.url, migrations.slice(0, 1))).rejects.toThrow(
    /schema 2.*knows schemas up to 1: start the newer Drover/,
  );
  await migrate(database.url, migrations);
});

function migrationsFolder(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "drover-migrations-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}
