import pg from "pg";
import type { Query, SqlRunner } from "../sql.ts";
import { isConnectionLost, unavailable } from "./postgres-errors.ts";
import { connectionOptions } from "./postgres-options.ts";
import { statementOf } from "./postgres-statement.ts";

const CONNECTIONS_MAX = 8;
const IDLE_MS = 60_000;

/** Reads outside of transactions, each on whatever connection is free; they see what is committed. */
export class PostgresReads implements SqlRunner {
  readonly #pool: pg.Pool;

  constructor(url: string) {
    this.#pool = new pg.Pool({
      ...connectionOptions(url),
      max: CONNECTIONS_MAX,
      idleTimeoutMillis: IDLE_MS,
    });
    // An idle connection was lost: the pool has dropped it, and makes another when it is needed.
    this.#pool.on("error", () => undefined);
    // One that is in use fails its statement; without a listener it would end the process as well.
    this.#pool.on("connect", (client) => client.on("error", () => undefined));
  }

  async all<Row>(query: Query): Promise<readonly Row[]> {
    try {
      return await this.#rows<Row>(query);
    } catch (error) {
      throw unavailable(error) ?? error;
    }
  }

  async get<Row>(query: Query): Promise<Row | undefined> {
    return (await this.all<Row>(query))[0];
  }

  async close(): Promise<void> {
    if (!this.#pool.ending) await this.#pool.end();
  }

  /** Connections may have died while they were idle: each is tried, and then a new one. */
  async #rows<Row>(query: Query): Promise<readonly Row[]> {
    for (let attempt = 0; ; attempt += 1) {
      const client = await this.#pool.connect();
      try {
        const { rows } = await client.query<Row & pg.QueryResultRow>(statementOf(query));
        client.release();
        return rows;
      } catch (error) {
        const isLost = isConnectionLost(error);
        client.release(isLost);
        if (!isLost || attempt === CONNECTIONS_MAX) throw error;
      }
    }
  }
}
