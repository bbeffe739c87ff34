import { join } from "node:path";
import type { Config } from "../config.ts";
import { acquireFileLock, type FileLock } from "../lib/file-lock.ts";
import { OperatorError } from "../lib/operator-error.ts";

/** By what right a server uses its data folder and its database. */
export interface Ownership extends FileLock {
  /** Other servers may use the same database, and the same folder; leases tell who does what. */
  readonly isShared: boolean;
}

/** Throws an `OperatorError` if the folder is another server's. */
export function takeOwnership(config: Config): Ownership {
  if (config.postgresUrl !== undefined) {
    return { isShared: true, stillHeld: () => true, release: () => undefined };
  }
  const lock = acquireFileLock(join(config.data, "serve.lock"));
  if (lock === undefined) {
    throw new OperatorError(
      `Another server is running on the data folder ${config.data}; stop it with \`drover stop\`, or set DROVER_DATA to a folder of its own.`,
    );
  }
  return { ...lock, isShared: false };
}
