import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface Migration {
  readonly version: number;
  /** The file's name, such as `0001-first-schema.sql`. */
  readonly name: string;
  readonly text: string;
}

/** Beside this file in the sources, and beside the bundle when it is built. */
export const MIGRATIONS_FOLDER = join(import.meta.dirname, "migrations");

const FILE = /^(\d{4})-[a-z0-9-]+\.sql$/;

/** The migrations in order. Throws unless they are numbered from 1 without gaps. */
export function readMigrations(folder: string): readonly Migration[] {
  const migrations = readdirSync(folder)
    .sort()
    .flatMap((name): readonly Migration[] => {
      const version = FILE.exec(name)?.[1];
      if (version === undefined) return [];
      return [{ version: Number(version), name, text: readFileSync(join(folder, name), "utf8") }];
    });
  const misplaced = migrations.find(({ version }, index) => version !== index + 1);
  if (misplaced !== undefined || migrations.length === 0) {
    throw new Error(`the migrations in ${folder} are not numbered from 1 without gaps`);
  }
  return migrations;
}

/** The migrations that a database at `current` still needs. Throws if it is ahead of them all. */
export function pendingMigrations(
  migrations: readonly Migration[],
  current: number,
): readonly Migration[] {
  const newest = migrations.at(-1)?.version ?? 0;
  if (current > newest) {
    throw new Error(
      `The database has schema ${current}, and this Drover knows schemas up to ${newest}: start the newer Drover that wrote it, or restore the backup made before the upgrade.`,
    );
  }
  return migrations.filter(({ version }) => version > current);
}
