import type { Announcements } from "../../core/ports/announcements.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Store, StoreTransaction } from "../../core/ports/store.ts";
import { WriteQueue } from "../write-queue.ts";
import type { MemorySource } from "./memory-data.ts";
import { MemoryEngine } from "./memory-engine.ts";
import { memoryEventReader } from "./memory-events.ts";
import { memoryFileReader } from "./memory-files.ts";
import {
  memoryAgentReader,
  memoryApiKeyReader,
  memoryEnvironmentReader,
} from "./memory-records.ts";
import { memorySessionReader } from "./memory-sessions.ts";

export interface MemoryStoreOptions {
  readonly clock: Clock;
  readonly announcements: Pick<Announcements, "publish">;
}

/** A store that lasts as long as its process, for tests. What it gives out is frozen. */
export class MemoryStore implements Store {
  readonly events: Store["events"];
  readonly sessions: Store["sessions"];
  readonly agents: Store["agents"];
  readonly environments: Store["environments"];
  readonly files: Store["files"];
  readonly apiKeys: Store["apiKeys"];
  readonly #engine: MemoryEngine;
  readonly #queue: WriteQueue;

  constructor({ clock, announcements }: MemoryStoreOptions) {
    this.#engine = new MemoryEngine(clock);
    this.#queue = new WriteQueue({
      engine: this.#engine,
      publish: (announcement) => announcements.publish(announcement),
      onFailure: () => undefined,
      onRecovery: () => undefined,
    });
    const source: MemorySource = async () => {
      await this.#queue.settled();
      return this.#engine.data;
    };
    this.events = memoryEventReader(source);
    this.sessions = memorySessionReader(source);
    this.agents = memoryAgentReader(source);
    this.environments = memoryEnvironmentReader(source);
    this.files = memoryFileReader(source);
    this.apiKeys = memoryApiKeyReader(source);
  }

  write<T>(work: (tx: StoreTransaction) => Promise<T>): Promise<T> {
    return this.#queue.write(work);
  }

  writeUnsynced<T>(work: (tx: StoreTransaction) => Promise<T>): Promise<T> {
    return this.#queue.write(work, false);
  }

  failure(): string | undefined {
    return this.#queue.failure();
  }

  /** Makes every write fail, as a full disk does, until it is called with undefined. */
  failWrites(sentence: string | undefined): void {
    this.#engine.failure = sentence;
  }

  close(): Promise<void> {
    return this.#queue.close();
  }
}
