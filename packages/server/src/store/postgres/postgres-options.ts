import pg from "pg";

/** Milliseconds. */
const CONNECT_MS = 5_000;
const STATEMENT_MS = 30_000;
/** Longer than the server's own limit: for answers that never come because the machine is gone. */
const ANSWER_MS = 40_000;
/** For the lock that writes take, and what a migration holds. */
const LOCK_MS = 15_000;
/** A server that stands still in a write would hold up all others. */
const IDLE_IN_WRITE_MS = 5_000;

const INT8 = pg.types.builtins.INT8;

/** What every connection has in common. Integers of 64 bits are numbers: all of Drover's are below 2^53. */
export function connectionOptions(url: string): pg.ClientConfig {
  return {
    connectionString: url,
    application_name: "drover",
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: STATEMENT_MS,
    query_timeout: ANSWER_MS,
    lock_timeout: LOCK_MS,
    idle_in_transaction_session_timeout: IDLE_IN_WRITE_MS,
    keepAlive: true,
    types: {
      getTypeParser: (oid: number, format?: "text" | "binary") =>
        oid === INT8 && format !== "binary" ? Number : pg.types.getTypeParser(oid, format),
    },
  };
}
