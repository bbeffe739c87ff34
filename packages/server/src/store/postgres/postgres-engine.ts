import type { StoreUnavailableError } from "../../core/errors.ts";
import type { Clock } from "../../core/ports/clock.ts";
import { type Query, type SqlRunner, sql } from "../sql.ts";
import { SqlStoreTransaction } from "../sql-ports.ts";
import type { Touched } from "../touched.ts";
import type { WriteEngine } from "../write-queue.ts";
import { holderLock } from "./holder-lock.ts";
import { PostgresConnection } from "./postgres-connection.ts";
import { isConnectionLost, unavailable } from "./postgres-errors.ts";

/**
 * The lock that a server holds while it writes, by an arbitrary number ("Drover" as on a telephone).
 * Writes of all servers run one after another, as they do in one SQLite file.
 */
const WRITE_LOCK = 376837;

/** How long to find out what became of a commit whose answer was lost, in milliseconds. */
const DOUBT_MS = 10_000;
const DOUBT_PAUSE_MS = 200;

const PROBE = "-".repeat(64 * 1024);

/** The connection that writes, as the queue of writes drives it. */
export class PostgresEngine implements WriteEngine {
  /** More savepoints than this in a transaction are slow for everybody who reads beside it. */
  readonly worksMax = 64;
  readonly #connection: PostgresConnection;
  readonly #clock: Clock;
  readonly #isFenced: boolean;
  /** What `pg_xact_status` knows the transaction by; undefined while none is open. */
  #transactionId: string | undefined;
  #fault: unknown;
  /** The connection may be to a server that takes no more writes: a new one may find another. */
  #isDoubtful = false;
  #load = 0;
  #stalled: () => void = () => undefined;

  constructor(url: string, clock: Clock, isFenced: boolean) {
    this.#connection = new PostgresConnection(url);
    this.#clock = clock;
    this.#isFenced = isFenced;
  }

  async begin(isSynced: boolean): Promise<void> {
    this.#fault = undefined;
    this.#load = 0;
    this.#transactionId = undefined;
    if (this.#isDoubtful) this.#connection.drop();
    this.#isDoubtful = false;
    const wasConnected = this.#connection.isConnected;
    try {
      await this.#begin(isSynced);
    } catch (error) {
      this.#connection.drop();
      // A connection that was idle may have died unnoticed, and nothing was done on it yet.
      if (!wasConnected || !isConnectionLost(error)) throw error;
      await this.#begin(isSynced);
    }
  }

  async #begin(isSynced: boolean): Promise<void> {
    await this.#connection.connect();
    const { rows } = await this.#connection.run(
      `begin isolation level read committed;
      set local synchronous_commit = ${isSynced ? "on" : "off"};
      select pg_advisory_xact_lock(${WRITE_LOCK});
      select pg_current_xact_id()::text as id`,
    );
    this.#transactionId = String(rows[0]?.["id"]);
  }

  async commit(): Promise<void> {
    const id = this.#transactionId;
    this.#transactionId = undefined;
    try {
      const { command } = await this.#connection.run("commit");
      if (command !== "COMMIT") throw this.#fault ?? new Error("PostgreSQL rolled the commit back");
    } catch (error) {
      if (!isConnectionLost(error) || id === undefined) throw error;
      if (!(await this.#isCommitted(id, error))) throw error;
    }
  }

  async rollback(): Promise<void> {
    this.#transactionId = undefined;
    try {
      await this.#connection.run("rollback");
    } catch {
      // The server rolls back what a lost connection leaves open.
      this.#connection.drop();
    }
  }

  savepoint(): void {
    this.#fault = undefined;
    this.#send("savepoint work");
  }

  /** Nothing: the next work's savepoint may be within this one, and the commit ends them all. */
  releaseSavepoint(): void {}

  rollbackToSavepoint(): void {
    this.#send("rollback to savepoint work");
  }

  isOpen(): boolean {
    return this.#transactionId !== undefined && this.#connection.isConnected;
  }

  probe(): Promise<unknown> {
    return this.#connection.rows(sql`
      insert into probes (id, padding) values (1, ${PROBE})
      on conflict (id) do update set padding = excluded.padding`);
  }

  load(): number {
    return this.#load;
  }

  fault(): unknown {
    return this.#fault;
  }

  unavailable(error: unknown): StoreUnavailableError | undefined {
    return unavailable(error);
  }

  open(touched: Touched): ReturnType<WriteEngine["open"]> {
    const db = new OneWork(
      (query) => this.#rows(query),
      () => this.#stalled(),
    );
    const now = new Date(this.#clock.now()).toISOString();
    const isFenced = this.#isFenced;
    const tx = new SqlStoreTransaction({ db, now, touched, isHolderGone, isFenced });
    return { tx, close: () => db.close() };
  }

  watch(stalled: () => void): { stop(): void } {
    this.#stalled = stalled;
    return {
      stop: () => {
        this.#stalled = () => undefined;
      },
    };
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  async #rows<Row>(query: Query): Promise<readonly Row[]> {
    for (const value of query.values) if (typeof value === "string") this.#load += value.length;
    try {
      return await this.#connection.rows<Row>(query);
    } catch (error) {
      this.#note(error);
      throw error;
    }
  }

  /** Its answer is not waited for: what fails here makes the commit fail. */
  #send(text: string): void {
    this.#connection.run(text).catch((error: unknown) => this.#note(error));
  }

  #note(error: unknown): void {
    if (unavailable(error) === undefined) return;
    this.#fault ??= error;
    this.#isDoubtful = true;
  }

  /** Asks on a new connection what became of the transaction. Throws if that cannot be found out. */
  async #isCommitted(id: string, cause: unknown): Promise<boolean> {
    const deadline = performance.now() + DOUBT_MS;
    let reason = cause;
    while (performance.now() < deadline) {
      try {
        await this.#connection.connect();
        const [row] = await this.#connection.rows<{ status: string | null }>(
          sql`select pg_xact_status(cast(${id} as xid8)) as status`,
        );
        if (row?.status === "committed") return true;
        if (row?.status === "aborted") return false;
      } catch (error) {
        this.#connection.drop();
        reason = error;
      }
      await new Promise((resolve) => setTimeout(resolve, DOUBT_PAUSE_MS));
    }
    throw unavailable(reason) ?? reason;
  }
}

/** A server that lives has this lock on another connection; see `PostgresAnnouncements`. */
function isHolderGone(column: Query): Query {
  return sql`pg_try_advisory_xact_lock(${holderLock(column)})`;
}

/**
 * Passes the statements of one work on until it has ended: a late one would land in somebody else's.
 * A work that has none under way when everything else has had its turn awaits something else.
 */
class OneWork implements SqlRunner {
  readonly #run: <Row>(query: Query) => Promise<readonly Row[]>;
  readonly #stalled: () => void;
  #underWay = 0;
  #ended = false;

  constructor(run: <Row>(query: Query) => Promise<readonly Row[]>, stalled: () => void) {
    this.#run = run;
    this.#stalled = stalled;
    this.#lookLater();
  }

  close(): void {
    this.#ended = true;
  }

  async all<Row>(query: Query): Promise<readonly Row[]> {
    if (this.#ended) throw new Error("a transaction was used after its work had ended");
    this.#underWay += 1;
    try {
      return await this.#run<Row>(query);
    } finally {
      this.#underWay -= 1;
      this.#lookLater();
    }
  }

  async get<Row>(query: Query): Promise<Row | undefined> {
    return (await this.all<Row>(query))[0];
  }

  #lookLater(): void {
    setImmediate(() => {
      if (!this.#ended && this.#underWay === 0) this.#stalled();
    });
  }
}
