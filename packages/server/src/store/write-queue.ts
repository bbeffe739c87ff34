import { StoreUnavailableError } from "../core/errors.ts";
import type { Announcement } from "../core/ports/announcements.ts";
import type { StoreTransaction } from "../core/ports/store.ts";
import { Touched } from "./touched.ts";

/** No further work joins a commit that has grown to so many bytes. */
const GROUP_BYTES = 8 * 1024 * 1024;

/** Works that may wait; further ones are refused, since the disk does not keep up. */
const WAITING_WORKS_MAX = 20_000;

/** One connection that writes. What answers `unknown` is awaited; an engine in the process needs no promise. */
export interface WriteEngine {
  /** At most so many works in one commit. */
  readonly worksMax: number;
  /** `isSynced` false: the commit need not be on disk when it returns. */
  begin(isSynced: boolean): unknown;
  commit(): unknown;
  rollback(): unknown;
  savepoint(): void;
  releaseSavepoint(): void;
  rollbackToSavepoint(): void;
  /** False once the engine itself has given up the transaction, as on some I/O errors. */
  isOpen(): boolean;
  /** Writes as much as a usual group does, to find out whether there is room for it. */
  probe(): unknown;
  /** Bytes that were to be written since `begin`. */
  load(): number;
  /** The first error since `savepoint` that says the database cannot be written, even if the work caught it. */
  fault(): unknown;
  /** The same error for callers, if it is of that kind. */
  unavailable(error: unknown): StoreUnavailableError | undefined;
  /** A transaction for one work; `close` makes any later use of it an error. */
  open(touched: Touched): { readonly tx: StoreTransaction; close(): void };
  /** Calls back when the open work awaits something else than this engine, until it is told to stop. */
  watch(stalled: () => void): { stop(): void };
}

export interface WriteQueueOptions {
  readonly engine: WriteEngine;
  readonly publish: (announcement: Announcement) => void;
  /** The database could not be written: the first time since it last could. */
  readonly onFailure: (error: StoreUnavailableError) => void;
  readonly onRecovery: () => void;
}

interface Job {
  /** Runs the work; afterwards `settle` hands its outcome to the caller. */
  run(tx: StoreTransaction): Promise<void>;
  resolve(): void;
  reject(error: unknown): void;
  readonly touched: Touched;
  readonly isSynced: boolean;
}

type Outcome = { readonly job: Job; readonly error?: unknown };

/**
 * Runs works one after another, and all that wait at a tick in one commit: the sync of the disk is
 * what a commit costs, 0.3 ms, whatever is in it. Each work has its own savepoint. A work that awaits
 * anything but its transaction is failed instead of being waited for.
 */
export class WriteQueue {
  readonly #options: WriteQueueOptions;
  readonly #waiting: Job[] = [];
  #scheduled = false;
  #running: Promise<void> | undefined;
  #closed = false;
  #failure: StoreUnavailableError | undefined;
  #stall: ((error: Error) => void) | undefined;

  constructor(options: WriteQueueOptions) {
    this.#options = options;
  }

  /** `isSynced` false: the caller can do without the commit being on disk; see `Store.writeUnsynced`. */
  write<T>(work: (tx: StoreTransaction) => Promise<T>, isSynced = true): Promise<T> {
    if (this.#closed) return Promise.reject(new Error("the store is closed"));
    if (this.#waiting.length >= WAITING_WORKS_MAX) return Promise.reject(overloaded());
    return new Promise<T>((resolve, reject) => {
      let value: { readonly of: T } | undefined;
      this.#waiting.push({
        touched: new Touched(),
        isSynced,
        run: async (tx) => {
          value = { of: await work(tx) };
        },
        resolve: () => (value === undefined ? reject(new Error("no outcome")) : resolve(value.of)),
        reject,
      });
      this.#schedule();
    });
  }

  failure(): string | undefined {
    return this.#failure?.message;
  }

  /** Resolves when no group is half done; at once if none is. */
  async settled(): Promise<void> {
    await this.#running;
  }

  /** Lets what was written before finish, and refuses the rest. */
  async close(): Promise<void> {
    this.#closed = true;
    while (this.#scheduled || this.#running !== undefined) {
      await (this.#running ?? new Promise((resolve) => setImmediate(resolve)));
    }
  }

  #schedule(): void {
    if (this.#scheduled || this.#running !== undefined) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#running = this.#runGroup().finally(() => {
        this.#running = undefined;
        if (this.#waiting.length > 0) this.#schedule();
      });
    });
  }

  async #runGroup(): Promise<void> {
    const { engine } = this.#options;
    const outcomes: Outcome[] = [];
    const isSynced = this.#waiting.some((job) => job.isSynced);
    try {
      await engine.begin(isSynced);
      await this.#runJobs(outcomes, isSynced);
      if (!engine.isOpen()) throw engine.fault() ?? new Error("the transaction was given up");
      // While writing fails, any work finds out whether it works again, and only with room to spare:
      // else the last free pages would make it work and fail by turns.
      if (this.#failure !== undefined) await engine.probe();
      await engine.commit();
      this.#settle(outcomes);
    } catch (error) {
      await this.#abandon(outcomes, error);
    }
  }

  async #runJobs(outcomes: Outcome[], isSynced: boolean): Promise<void> {
    const { engine } = this.#options;
    const watch = engine.watch(() => this.#stall?.(stalled()));
    try {
      while (outcomes.length < engine.worksMax && engine.load() < GROUP_BYTES) {
        const [job] = this.#waiting;
        // One that came after `begin` and asks for more than this commit does waits for the next.
        if (job === undefined || (job.isSynced && !isSynced)) return;
        this.#waiting.shift();
        outcomes.push(await this.#runJob(job));
        if (!engine.isOpen()) return;
      }
    } finally {
      watch.stop();
      this.#stall = undefined;
    }
  }

  async #runJob(job: Job): Promise<Outcome> {
    const { engine } = this.#options;
    engine.savepoint();
    const transaction = engine.open(job.touched);
    try {
      await this.#unlessStalled(job.run(transaction.tx));
      const fault = engine.fault();
      if (fault !== undefined) throw fault;
      engine.releaseSavepoint();
      return { job };
    } catch (error) {
      if (engine.isOpen()) engine.rollbackToSavepoint();
      return { job, error: engine.unavailable(engine.fault()) ?? error };
    } finally {
      transaction.close();
    }
  }

  #unlessStalled(running: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#stall = reject;
      running.then(resolve, reject);
    });
  }

  #settle(outcomes: readonly Outcome[]): void {
    const failed = outcomes.find(({ error }) => error instanceof StoreUnavailableError)?.error;
    if (failed instanceof StoreUnavailableError) this.#fail(failed);
    else this.#recover();
    const touched = new Touched();
    for (const { job, error } of outcomes) if (error === undefined) touched.merge(job.touched);
    for (const announcement of touched.announcements()) this.#options.publish(announcement);
    for (const { job, error } of outcomes) {
      if (error === undefined) job.resolve();
      else job.reject(error);
    }
  }

  /** Nothing of the group was stored. */
  async #abandon(outcomes: readonly Outcome[], error: unknown): Promise<void> {
    const { engine } = this.#options;
    const unavailable = engine.unavailable(error);
    if (unavailable !== undefined) this.#fail(unavailable);
    const ran: readonly Outcome[] =
      outcomes.length > 0
        ? outcomes
        : this.#waiting.splice(0, engine.worksMax).map((job) => ({ job }));
    try {
      if (engine.isOpen()) await engine.rollback();
    } finally {
      for (const outcome of ran) outcome.job.reject(outcome.error ?? unavailable ?? error);
    }
  }

  #fail(error: StoreUnavailableError): void {
    const first = this.#failure === undefined;
    this.#failure = error;
    if (first) this.#options.onFailure(error);
  }

  #recover(): void {
    if (this.#failure === undefined) return;
    this.#failure = undefined;
    this.#options.onRecovery();
  }
}

function stalled(): Error {
  return new Error("a work awaited something other than its transaction, which others wait for");
}

function overloaded(): StoreUnavailableError {
  return new StoreUnavailableError(
    "More writes wait than the disk can take: try again in a moment.",
  );
}
