import { StoreUnavailableError } from "../../core/errors.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { StoreTransaction } from "../../core/ports/store.ts";
import type { Touched } from "../touched.ts";
import type { WriteEngine } from "../write-queue.ts";
import { MemoryData, type MemoryTransaction } from "./memory-data.ts";
import { memoryEventWriter } from "./memory-events.ts";
import { memoryFiles } from "./memory-files.ts";
import { memoryLooseBlobs } from "./memory-loose-blobs.ts";
import { memoryQueue } from "./memory-queue.ts";
import {
  memoryAgents,
  memoryAnsweredRequests,
  memoryApiKeys,
  memoryEnvironments,
} from "./memory-records.ts";
import { memorySessionWriter } from "./memory-sessions.ts";

/** Groups of works on data in memory: what fails is taken back step by step. */
export class MemoryEngine implements WriteEngine {
  readonly data = new MemoryData();
  /** While it is set, nothing can be written and this sentence is why. */
  failure: string | undefined;
  readonly #clock: Clock;
  #isOpen = false;
  #savepoint = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  begin(): void {
    if (this.failure !== undefined) throw new StoreUnavailableError(this.failure);
    this.#isOpen = true;
  }

  commit(): void {
    this.data.journal.forget();
    this.#isOpen = false;
  }

  rollback(): void {
    this.data.journal.rollbackTo(0);
    this.#isOpen = false;
  }

  savepoint(): void {
    this.#savepoint = this.data.journal.length;
  }

  releaseSavepoint(): void {
    this.#savepoint = this.data.journal.length;
  }

  rollbackToSavepoint(): void {
    this.data.journal.rollbackTo(this.#savepoint);
  }

  isOpen(): boolean {
    return this.#isOpen;
  }

  /** `begin` has found out already. */
  probe(): void {}

  load(): number {
    return 0;
  }

  fault(): undefined {
    return undefined;
  }

  unavailable(error: unknown): StoreUnavailableError | undefined {
    return error instanceof StoreUnavailableError ? error : undefined;
  }

  open(touched: Touched): { readonly tx: StoreTransaction; close(): void } {
    let isEnded = false;
    const tx: MemoryTransaction = {
      data: () => {
        if (isEnded) throw new Error("a transaction was used after its work had ended");
        return this.data;
      },
      now: new Date(this.#clock.now()).toISOString(),
      touched,
    };
    return {
      tx: transactionOf(tx),
      close: () => {
        isEnded = true;
      },
    };
  }
}

function transactionOf(tx: MemoryTransaction): StoreTransaction {
  return {
    now: tx.now,
    events: memoryEventWriter(tx),
    sessions: memorySessionWriter(tx),
    queue: memoryQueue(tx),
    agents: memoryAgents(tx),
    environments: memoryEnvironments(tx),
    files: memoryFiles(tx),
    looseBlobs: memoryLooseBlobs(tx),
    apiKeys: memoryApiKeys(tx),
    answeredRequests: memoryAnsweredRequests(tx),
  };
}
