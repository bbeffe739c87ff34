import Database from "better-sqlite3";
import { StoreUnavailableError } from "../../core/errors.ts";

const SENTENCES: readonly (readonly [prefix: string, sentence: string])[] = [
  ["SQLITE_FULL", "The disk that holds the database is full: make room, and writing goes on."],
  ["SQLITE_BUSY", "Another process keeps the database locked: end it, and writing goes on."],
  ["SQLITE_LOCKED", "Another process keeps the database locked: end it, and writing goes on."],
  [
    "SQLITE_READONLY",
    "The database may only be read: check the permissions of its file and folder.",
  ],
  ["SQLITE_CANTOPEN", "The database file cannot be opened: check that its folder is there."],
  ["SQLITE_IOERR", "The disk that holds the database fails: check it and the room on it."],
  ["SQLITE_NOMEM", "There is no memory for the database: free some, and writing goes on."],
];

/** The error as callers get it, if it says that the database cannot be written at present. */
export function unavailable(error: unknown): StoreUnavailableError | undefined {
  if (error instanceof StoreUnavailableError) return error;
  if (!(error instanceof Database.SqliteError)) return undefined;
  const sentence = SENTENCES.find(([prefix]) => error.code.startsWith(prefix))?.[1];
  return sentence === undefined ? undefined : new StoreUnavailableError(sentence, { cause: error });
}
