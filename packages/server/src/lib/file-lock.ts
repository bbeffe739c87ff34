import { closeSync, openSync, statSync } from "node:fs";
import Database from "better-sqlite3";

/** An exclusive lock on a file, held until `release` or the end of the process, however it ends. */
export interface FileLock {
  /** False once the file is gone or another stands in its place: the lock protects nothing then. */
  stillHeld(): boolean;
  /** Gives the lock up; the file stays, because deleting it would race with the next holder. */
  release(): void;
}

/**
 * Takes an exclusive lock on the file, making it if need be (0600, an empty file). Undefined if
 * another process, or this one, has it. Never waits.
 *
 * Node has no `flock`. SQLite has the operating system's record locks, which the kernel drops with
 * their holder and which no child inherits, so an exclusive transaction on an otherwise unused
 * database is the lock: this file and `store` are the only places that import `better-sqlite3`.
 */
export function acquireFileLock(path: string): FileLock | undefined {
  makeIfAbsent(path);
  const inode = inodeOf(path);
  const database = new Database(path, { timeout: 0 });
  try {
    database.pragma("locking_mode = exclusive");
    // No journal file beside the lock: nothing is ever written.
    database.pragma("journal_mode = memory");
    database.exec("begin exclusive");
  } catch (error) {
    database.close();
    if (isBusy(error)) return undefined;
    throw new Error(`the lock file ${path} cannot be locked`, { cause: error });
  }
  if (inode === undefined || inodeOf(path) !== inode) {
    // It was replaced between opening and locking: what is locked may not be what others see.
    database.close();
    return undefined;
  }
  return {
    stillHeld: () => database.open && inodeOf(path) === inode,
    release() {
      database.close();
    },
  };
}

/**
 * Made here and not by SQLite, which would give it the umask's permissions; and never opened when it
 * is there, because closing any descriptor of a file drops all record locks the process has on it.
 */
function makeIfAbsent(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}

function inodeOf(path: string): string | undefined {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat && `${stat.dev}:${stat.ino}`;
}

function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith("SQLITE_BUSY");
}
