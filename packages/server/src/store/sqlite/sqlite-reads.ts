import type { Database } from "better-sqlite3";
import type { Query, SqlRunner } from "../sql.ts";
import { SqliteRunner } from "./sqlite-runner.ts";

/**
 * Reads outside of transactions. They go through the connection that writes, because what was just
 * written is in its cache: the other one has to read it from the file again after every commit, which
 * made the statements of a turn five times as slow (100-200 instead of 20-40 µs). While a group of works
 * is open that connection shows what is not committed, and the other one is asked.
 */
export class SqliteReads implements SqlRunner {
  readonly #writer: Database;
  readonly #warm: SqlRunner;
  readonly #committed: SqlRunner;

  constructor({ writer, reader }: { writer: Database; reader: Database }) {
    this.#writer = writer;
    this.#warm = new SqliteRunner(writer);
    this.#committed = new SqliteRunner(reader);
  }

  all<Row>(query: Query): Promise<readonly Row[]> {
    return this.#runner().all<Row>(query);
  }

  get<Row>(query: Query): Promise<Row | undefined> {
    return this.#runner().get<Row>(query);
  }

  #runner(): SqlRunner {
    return this.#writer.inTransaction ? this.#committed : this.#warm;
  }
}
