import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { MIGRATIONS_FOLDER, readMigrations } from "../migrate.ts";
import { openWriter } from "./sqlite-file.ts";

test("makes a database that only its owner can read, synced at every commit", async () => {
  const file = join(await temporaryFolder(), "data", "drover.db");
  const database = openWriter(file, readMigrations(MIGRATIONS_FOLDER));
  expect(statSync(join(file, "..")).mode & 0o777).toBe(0o700);
  for (const name of [file, `${file}-wal`, `${file}-shm`]) {
    expect([name, statSync(name).mode & 0o777]).toEqual([name, 0o600]);
  }
  const setting = (name: string) => database.pragma(name, { simple: true });
  expect([setting("journal_mode"), setting("synchronous"), setting("page_size")]).toEqual([
    "wal",
    2,
    8192,
  ]);
  database.close();
});

test("has the schema that schema.sql shows", async () => {
  const database = openWriter(
    join(await temporaryFolder(), "drover.db"),
    readMigrations(MIGRATIONS_FOLDER),
  );
  const rows = database
    .prepare("select sql from sqlite_schema where sql is not null order by name")
    .pluck()
    .all();
  database.close();
  const expected = readFileSync(join(import.meta.dirname, "../schema.sql"), "utf8");
  expect(`${rows.join(";\n\n")};\n`).toBe(expected);
});

test("applies what is missing, once, and keeps what is there", async () => {
  const folder = await temporaryFolder();
  const file = join(folder, "drover.db");
  const migrations = migrationsIn(folder, { "0001-one.sql": "create table one (a integer);" });
  const first = openWriter(file, migrations);
  first.exec("insert into one values (7)");
  first.close();
  const more = migrationsIn(folder, {
    "0002-two.sql": "create table two (b integer); insert into two select a from one;",
  });
  openWriter(file, more).close();
  const database = openWriter(file, more);
  expect(database.prepare("select b from two").pluck().all()).toEqual([7]);
  expect(database.prepare("select version from migrations").pluck().all()).toEqual([1, 2]);
  database.close();
});

test("leaves the database at the version before a migration that fails", async () => {
  const folder = await temporaryFolder();
  const file = join(folder, "drover.db");
  const migrations = migrationsIn(folder, {
    "0001-one.sql": "create table one (a integer);",
    "0002-two.sql": "create table two (b integer); create table one (a integer);",
  });
  expect(() => openWriter(file, migrations)).toThrow("already exists");
  const database = new Database(file);
  expect(database.prepare("select name from sqlite_schema order by name").pluck().all()).toEqual([
    "migrations",
    "one",
  ]);
  expect(database.prepare("select version from migrations").pluck().all()).toEqual([1]);
  database.close();
});

test("refuses a database that a newer version wrote, and leaves it alone", async () => {
  const folder = await temporaryFolder();
  const file = join(folder, "drover.db");
  const migrations = migrationsIn(folder, {
    "0001-one.sql": "create table one (a integer);",
    "0002-two.sql": "create table two (b integer);",
  });
  openWriter(file, migrations).close();
  expect(() => openWriter(file, migrations.slice(0, 1))).toThrow(
    /schema 2.*knows schemas up to 1: start the newer Drover/,
  );
  openWriter(file, migrations).close();
});

test("refuses migrations that are not numbered from 1 without gaps", async () => {
  const folder = await temporaryFolder();
  expect(() => migrationsIn(folder, {})).toThrow("numbered");
  expect(() => migrationsIn(folder, { "0001-one.sql": "", "0003-three.sql": "" })).toThrow(
    "numbered",
  );
});

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "drover-store-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

function migrationsIn(folder: string, files: Readonly<Record<string, string>>) {
  const migrations = join(folder, "migrations");
  mkdirSync(migrations, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(migrations, name), text);
  return readMigrations(migrations);
}
