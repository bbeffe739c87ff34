import type { Clock } from "../../core/ports/clock.ts";
import { HandsUnavailableError } from "../../core/ports/hands.ts";
import { Deadline } from "../runtime/deadline.ts";
import { HandsConnection } from "./hands-connection.ts";
import { PROTOCOL_VERSION, processStart, readHandsFile } from "./hands-file.ts";

/**
 * Starts hands for the data folder, or finds that others are being started. Resolves when there is
 * something to look for in `hands.json`; rejects with a sentence for the operator.
 */
export type StartHands = (signal: AbortSignal) => Promise<void>;

export interface HandsFinderOptions {
  readonly dataDir: string;
  readonly start: StartHands;
  readonly clock: Clock;
  /** For starting hands and having them answer, in milliseconds. */
  readonly startDeadlineMs: number;
  /** What hands must let sandboxes reach, and nothing else; see `HandsFile`. Any unless given. */
  readonly network?: string;
}

const LOOK_AGAIN_MS = 100;
/** Hands that somebody else started are looked for as often. */
const APPEARS_MS = 1_000;
/** A start that failed is not tried again for so long, whoever asks. */
const FAILURE_PAUSE_MS = 1_000;

/** Knows which boot of the hands answers for a data folder, and has one started if none does. */
export class HandsFinder {
  readonly #options: HandsFinderOptions;
  #connection: HandsConnection | undefined;
  #appeared = Promise.withResolvers<void>();
  #looking: Promise<HandsConnection | undefined> | undefined;
  #finding: Promise<HandsConnection> | undefined;
  #failure: { error: HandsUnavailableError; untilMs: number } | undefined;

  constructor(options: HandsFinderOptions) {
    this.#options = options;
  }

  /** The last connection that answered; whether it still would is not known. */
  get last(): HandsConnection | undefined {
    return this.#connection;
  }

  /** Resolves when there is a connection, or after some time. Starts nothing. */
  async appears(signal: AbortSignal): Promise<void> {
    if (this.#connection !== undefined) return;
    const { clock } = this.#options;
    const over = new AbortController();
    const stop = AbortSignal.any([signal, over.signal]);
    await Promise.race([this.#appeared.promise, clock.sleepUntil(clock.now() + APPEARS_MS, stop)]);
    over.abort();
  }

  /** A boot that answers now, started if need be. Rejects with `HandsUnavailableError`. */
  find(): Promise<HandsConnection> {
    this.#finding ??= this.#find().finally(() => {
      this.#finding = undefined;
    });
    return this.#finding;
  }

  /** A boot that answers now, or undefined; starts nothing. */
  findRunning(): Promise<HandsConnection | undefined> {
    // Once for all who look: a second connection would end the first, and what goes over it.
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #look(): Promise<HandsConnection | undefined> {
    if (this.#connection && (await this.#connection.isAlive())) return this.#connection;
    const file = await readHandsFile(this.#options.dataDir);
    if (!file) return undefined;
    if (file.protocol !== PROTOCOL_VERSION) {
      throw new HandsUnavailableError(
        `The hands of ${this.#options.dataDir} (process ${file.pid}) speak protocol ${file.protocol}, ` +
          `this server ${PROTOCOL_VERSION}: stop them with \`drover stop --hands\` and try again.`,
      );
    }
    const connection = new HandsConnection(file);
    if (!(await connection.isAlive())) {
      connection.close();
      return undefined;
    }
    const { network } = this.#options;
    if (network !== undefined && file.network !== network) {
      connection.close();
      throw new HandsUnavailableError(
        `The hands of ${this.#options.dataDir} (process ${file.pid}) were started with other settings for the ` +
          "sandboxes or the search (DROVER_EGRESS_ALLOW, DROVER_SANDBOX_*, DROVER_SEARCH_*, DROVER_SECRETS_*) than this " +
          "server: stop them with `drover stop --hands`, and the next call starts others.",
      );
    }
    if (this.#connection?.boot === connection.boot) {
      // It was only too busy to say that it lives.
      connection.close();
      return this.#connection;
    }
    this.#connection?.close();
    this.#connection = connection;
    this.#appeared.resolve();
    this.#appeared = Promise.withResolvers<void>();
    return connection;
  }

  /** Whether the process that was this boot still exists, though it does not answer now. */
  async mayLive(boot: string): Promise<boolean> {
    const file = await readHandsFile(this.#options.dataDir);
    return file?.boot === boot && (await processStart(file.pid)) === file.pid_start;
  }

  close(): void {
    this.#connection?.close();
    this.#connection = undefined;
  }

  async #find(): Promise<HandsConnection> {
    const { clock } = this.#options;
    const running = await this.findRunning();
    if (running) return running;
    if (this.#failure && clock.now() < this.#failure.untilMs) throw this.#failure.error;
    try {
      return await this.#start();
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      const error = new HandsUnavailableError(`No hands can be had: ${why}`, { cause });
      this.#failure = { error, untilMs: clock.now() + FAILURE_PAUSE_MS };
      throw error;
    }
  }

  async #start(): Promise<HandsConnection> {
    const { clock, start, startDeadlineMs, dataDir } = this.#options;
    using deadline = new Deadline(clock, startDeadlineMs);
    while (!deadline.isOver) {
      await start(deadline.signal);
      const running = await this.findRunning();
      if (running) return running;
      await clock.sleepUntil(clock.now() + LOOK_AGAIN_MS, deadline.signal);
    }
    const seconds = Math.round(startDeadlineMs / 1000);
    throw new Error(`the hands of ${dataDir} did not answer within ${seconds} s.`);
  }
}
