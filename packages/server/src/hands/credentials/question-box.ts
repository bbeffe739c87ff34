import { randomUUID } from "node:crypto";
import type { Clock } from "../../core/ports/clock.ts";
import type {
  AskedQuestion,
  CredentialAnswer,
  CredentialQuestion,
} from "../../core/ports/credential-broker.ts";

/** Asks a server; undefined where none answers in time or before the signal is aborted. Never rejects. */
export type AskServer = (
  question: CredentialQuestion,
  signal: AbortSignal,
) => Promise<CredentialAnswer | undefined>;

/** What servers take from the box. */
export type WaitingQuestion = Omit<AskedQuestion, "hands_boot">;

interface Waiting extends WaitingQuestion {
  readonly resolve: (answer: CredentialAnswer | undefined) => void;
  /** Until then it is some server's business. */
  takenUntilMs: number;
}

/** For all of it: while no server answers, whoever needs a secret waits. */
const PATIENCE_MS = 30_000;
/** A server that has taken a question and does not answer it may be gone: another one gets it then. */
const TAKEN_MS = 5_000;
const WAITING_MAX = 4_096;
const TAKEN_AT_ONCE_MAX = 64;

/** Questions that wait for a server, which comes for them: hands know of no server's address. */
export class QuestionBox {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Waiting>();
  #news = Promise.withResolvers<void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  readonly ask: AskServer = async (question, signal) => {
    if (signal.aborted || this.#waiting.size >= WAITING_MAX) return undefined;
    const { promise, resolve } = Promise.withResolvers<CredentialAnswer | undefined>();
    const id = randomUUID();
    const over = new AbortController();
    const stop = AbortSignal.any([signal, over.signal]);
    this.#waiting.set(id, { id, question, resolve, takenUntilMs: 0 });
    this.#tellNews();
    void this.#clock
      .sleepUntil(this.#clock.now() + PATIENCE_MS, stop)
      .then(() => resolve(undefined));
    try {
      return await promise;
    } finally {
      over.abort();
      this.#waiting.delete(id);
    }
  };

  /** Those that no server has, as soon as there is one; none once the wait is over. */
  async take(waitMs: number, signal: AbortSignal): Promise<readonly WaitingQuestion[]> {
    const endMs = this.#clock.now() + waitMs;
    for (;;) {
      const news = this.#news.promise;
      const free = this.#free();
      if (free.length > 0 || signal.aborted || this.#clock.now() >= endMs) return free;
      await this.#until(Math.min(endMs, this.#nextFreeMs()), news, signal);
    }
  }

  /** An answer that nobody waits for any more is dropped. */
  answer(id: string, answer: CredentialAnswer): void {
    this.#waiting.get(id)?.resolve(answer);
  }

  #free(): readonly WaitingQuestion[] {
    const nowMs = this.#clock.now();
    const free = [...this.#waiting.values()]
      .filter(({ takenUntilMs }) => takenUntilMs <= nowMs)
      .slice(0, TAKEN_AT_ONCE_MAX);
    for (const each of free) each.takenUntilMs = nowMs + TAKEN_MS;
    return free.map(({ id, question }) => ({ id, question }));
  }

  #nextFreeMs(): number {
    const times = [...this.#waiting.values()].map(({ takenUntilMs }) => takenUntilMs);
    return Math.min(Number.POSITIVE_INFINITY, ...times);
  }

  async #until(atMs: number, news: Promise<void>, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const stop = AbortSignal.any([signal, over.signal]);
    try {
      await Promise.race([this.#clock.sleepUntil(atMs, stop), news]);
    } finally {
      over.abort();
    }
  }

  #tellNews(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers<void>();
  }
}
