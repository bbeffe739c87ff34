import pg from "pg";
import type { Query } from "../sql.ts";
import { connectionOptions } from "./postgres-options.ts";
import { statementOf } from "./postgres-statement.ts";

/** What is under way when a connection is closed may take so long to end, in milliseconds. */
const CLOSE_MS = 5_000;

export interface ConnectionEvents {
  /** Each new connection, before anything else is sent on it. */
  readonly onConnect?: (connection: PostgresConnection) => Promise<void>;
  readonly onNotification?: (payload: string) => void;
  /** The connection was lost, not closed. */
  readonly onLost?: () => void;
}

/**
 * One connection that is made when it is first needed and again after it was lost. Statements are sent
 * without waiting for the answers to those before, and run in the order in which they were sent.
 */
export class PostgresConnection {
  readonly #url: string;
  readonly #events: ConnectionEvents;
  #client: pg.Client | undefined;
  #connecting: Promise<void> | undefined;
  #closed = false;

  constructor(url: string, events: ConnectionEvents = {}) {
    this.#url = url;
    this.#events = events;
  }

  /** False from when the connection is known to be lost until it is made again. */
  get isConnected(): boolean {
    return this.#client !== undefined;
  }

  /** Rejects if the server cannot be reached. */
  async connect(): Promise<void> {
    if (this.#client !== undefined) return;
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    await this.#connecting;
  }

  /** The rows of a statement. */
  async rows<Row>(query: Query): Promise<readonly Row[]> {
    const { rows } = await this.#connected().query<Row & pg.QueryResultRow>(statementOf(query));
    return rows;
  }

  /** Runs one or more statements without values. Resolves to the name of the last command, such as `COMMIT`, and its rows. */
  async run(text: string): Promise<{ command: string; rows: readonly pg.QueryResultRow[] }> {
    // `pg` answers several statements with a list, which its types do not say.
    const result: unknown = await this.#connected().query(text);
    const last: unknown = Array.isArray(result) ? result.at(-1) : result;
    return last as pg.QueryResult;
  }

  /** Gives the connection up: what is under way on it fails. */
  drop(): void {
    const client = this.#client;
    this.#client = undefined;
    client?.connection.stream.destroy();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#connecting?.catch(() => undefined);
    const client = this.#client;
    this.#client = undefined;
    const timer = setTimeout(() => client?.connection.stream.destroy(), CLOSE_MS);
    await client?.end();
    clearTimeout(timer);
  }

  /** What is sent in one go leaves in one packet. */
  #connected(): pg.Client {
    const client = this.#client;
    if (client === undefined) throw new Error("Connection terminated");
    const { stream } = client.connection;
    if (stream.writableCorked === 0) {
      stream.cork();
      process.nextTick(() => stream.uncork());
    }
    return client;
  }

  async #connect(): Promise<void> {
    if (this.#closed) throw new Error("Connection terminated");
    const client = new pg.Client({ ...connectionOptions(this.#url), pipeline: true });
    const lost = () => {
      if (this.#client !== client) return;
      this.#client = undefined;
      this.#events.onLost?.();
    };
    // Without a listener an error would end the process; what was under way is rejected all the same.
    client.on("error", lost);
    client.on("end", lost);
    client.on("notification", ({ payload }) => this.#events.onNotification?.(payload ?? ""));
    await client.connect();
    this.#client = client;
    await this.#events.onConnect?.(this);
  }
}
