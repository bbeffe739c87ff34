import type { Database, Statement } from "better-sqlite3";
import type { Clock } from "../../core/ports/clock.ts";
import { type Query, type SqlRunner, sql } from "../sql.ts";
import { SqlStoreTransaction } from "../sql-ports.ts";
import type { Touched } from "../touched.ts";
import type { WriteEngine } from "../write-queue.ts";
import { unavailable } from "./sqlite-errors.ts";
import { SqliteRunner } from "./sqlite-runner.ts";

type Command = "begin" | "commit" | "rollback" | "savepoint" | "release" | "rollbackTo";

/** 64 KB: more than the pages that a commit of a few events rewrites. */
const PROBE = "-".repeat(64 * 1024);

/** The writing connection, as the queue of writes drives it: all it does is done when a call returns. */
export class SqliteEngine implements WriteEngine {
  readonly worksMax = 512;
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #isFenced: boolean;
  readonly #runner: SqliteRunner;
  readonly #commands: Readonly<Record<Command, Statement<[]>>>;
  /** As the connection is opened. */
  #isSynced = true;
  #now = { ms: Number.NaN, text: "" };
  #fault: unknown;

  constructor(database: Database, clock: Clock, isFenced: boolean) {
    this.#database = database;
    this.#clock = clock;
    this.#isFenced = isFenced;
    this.#runner = new SqliteRunner(database, (error) => {
      if (unavailable(error) !== undefined) this.#fault ??= error;
    });
    this.#commands = {
      // Taking the lock at once, so that it cannot be refused after half of the work.
      begin: database.prepare("begin immediate"),
      commit: database.prepare("commit"),
      rollback: database.prepare("rollback"),
      savepoint: database.prepare("savepoint work"),
      release: database.prepare("release savepoint work"),
      rollbackTo: database.prepare("rollback to savepoint work"),
    };
  }

  begin(isSynced: boolean): void {
    if (isSynced !== this.#isSynced) {
      this.#database.pragma(`synchronous = ${isSynced ? "full" : "normal"}`);
      this.#isSynced = isSynced;
    }
    this.#fault = undefined;
    this.#runner.resetLoad();
    this.#commands.begin.run();
  }

  commit(): void {
    this.#commands.commit.run();
  }

  rollback(): void {
    this.#commands.rollback.run();
  }

  savepoint(): void {
    this.#fault = undefined;
    this.#commands.savepoint.run();
  }

  releaseSavepoint(): void {
    this.#commands.release.run();
  }

  rollbackToSavepoint(): void {
    this.#commands.rollbackTo.run();
    this.#commands.release.run();
  }

  isOpen(): boolean {
    return this.#database.inTransaction;
  }

  probe(): void {
    this.#runner.run(sql`
      insert into probes (id, padding) values (1, ${PROBE})
      on conflict (id) do update set padding = excluded.padding`);
  }

  load(): number {
    return this.#runner.load();
  }

  fault(): unknown {
    return this.#fault;
  }

  unavailable(error: unknown): ReturnType<typeof unavailable> {
    return unavailable(error);
  }

  open(touched: Touched): ReturnType<WriteEngine["open"]> {
    const db = new OneWork(this.#runner);
    const now = this.#time();
    const isFenced = this.#isFenced;
    const tx = new SqlStoreTransaction({ db, now, touched, isFenced });
    return { tx, close: () => db.close() };
  }

  /**
   * Between the works of a group only microtasks run, so nothing else gets between `begin` and
   * `commit`: a macrotask while a group is open means that the work awaits something else.
   */
  watch(stalled: () => void): { stop(): void } {
    const look = (): void => {
      stalled();
      timer = setImmediate(look);
    };
    let timer = setImmediate(look);
    return { stop: () => clearImmediate(timer) };
  }

  /** Most works of a group share their millisecond, and with it the text. */
  #time(): string {
    const ms = this.#clock.now();
    if (ms !== this.#now.ms) this.#now = { ms, text: new Date(ms).toISOString() };
    return this.#now.text;
  }
}

/** Passes statements on until its work has ended: a late one would land in somebody else's work. */
class OneWork implements SqlRunner {
  readonly #runner: SqlRunner;
  #ended = false;

  constructor(runner: SqlRunner) {
    this.#runner = runner;
  }

  close(): void {
    this.#ended = true;
  }

  all<Row>(query: Query): Promise<readonly Row[]> {
    return this.#ended ? Promise.reject(late()) : this.#runner.all<Row>(query);
  }

  get<Row>(query: Query): Promise<Row | undefined> {
    return this.#ended ? Promise.reject(late()) : this.#runner.get<Row>(query);
  }
}

function late(): Error {
  return new Error("a transaction was used after its work had ended");
}
