import assert from "node:assert/strict";
import type { Stream } from "@anthropic-ai/sdk/core/streaming";
import type { BetaManagedAgentsStreamSessionEvents } from "@anthropic-ai/sdk/resources/beta/sessions/events";
import type { Target } from "../target.ts";

export type StreamEvent = BetaManagedAgentsStreamSessionEvents;
export type StreamEventOf<T extends StreamEvent["type"]> = Extract<StreamEvent, { type: T }>;

export interface WatchOptions {
  readonly previews?: readonly ("agent.message" | "agent.thinking")[];
  /** A thread's own stream. */
  readonly threadId?: string;
}

/** Longer than anything that a scenario waits for: a server's last retry may come after 20 seconds. */
const WAIT_MS = 40_000;

/** A stream of the official client that is read in the background from when it was opened. */
export class Watch {
  /** Everything that has come, oldest first. */
  readonly seen: StreamEvent[] = [];
  readonly #stream: Stream<StreamEvent>;
  readonly #reading: Promise<void>;
  #heard = Promise.withResolvers<void>();
  #failure: unknown;
  #isOver = false;

  private constructor(stream: Stream<StreamEvent>) {
    this.#stream = stream;
    this.#reading = this.#read();
  }

  /** Resolves once the headers are there: what happens from then on is seen. */
  static async open(t: Target, sessionId: string, options: WatchOptions = {}): Promise<Watch> {
    const { sessions } = t.client.beta;
    const { previews, threadId } = options;
    const query = previews === undefined ? {} : { event_deltas: [...previews] };
    const stream =
      threadId === undefined
        ? await sessions.events.stream(sessionId, query)
        : await sessions.threads.events.stream(threadId, { session_id: sessionId, ...query });
    t.closeAtEnd(stream.controller);
    return new Watch(stream as Stream<StreamEvent>);
  }

  /** The first event, also of the past, that matches; rejects if the stream ends before. */
  async until(matches: (event: StreamEvent) => boolean): Promise<StreamEvent> {
    for (let at = 0; ; ) {
      for (; at < this.seen.length; at++) {
        const event = this.seen[at];
        if (event !== undefined && matches(event)) return event;
      }
      if (this.#failure !== undefined) throw this.#failure;
      assert(!this.#isOver, `the stream ended after ${this.#types()}`);
      await this.#next();
    }
  }

  async untilType<T extends StreamEvent["type"]>(type: T): Promise<StreamEventOf<T>> {
    return (await this.until((event) => event.type === type)) as StreamEventOf<T>;
  }

  /** Everything up to the end of the turn, the `turn`th that is seen to end. */
  async turn(turn = 1): Promise<StreamEvent[]> {
    let idles = 0;
    const last = await this.until(({ type }) => type === "session.status_idle" && ++idles === turn);
    return this.seen.slice(0, this.seen.indexOf(last) + 1);
  }

  /** Resolves when the server ends the stream. */
  async ended(): Promise<void> {
    while (!this.#isOver) await this.#next();
  }

  async close(): Promise<void> {
    this.#stream.controller.abort();
    await this.#reading;
  }

  async #next(): Promise<void> {
    const late = Promise.withResolvers<never>();
    const message = () => new Error(`nothing came for ${WAIT_MS} ms after ${this.#types()}`);
    const timer = setTimeout(() => late.reject(message()), WAIT_MS);
    try {
      await Promise.race([this.#heard.promise, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #read(): Promise<void> {
    try {
      for await (const event of this.#stream) {
        this.seen.push(event);
        this.#wake();
      }
    } catch (error) {
      this.#failure = error;
    } finally {
      this.#isOver = true;
      this.#wake();
    }
  }

  #wake(): void {
    this.#heard.resolve();
    this.#heard = Promise.withResolvers();
  }

  #types(): string {
    return this.seen.map(({ type }) => type).join(", ") || "nothing";
  }
}

/** The events of one type, in their order. */
export function eventsOf<T extends StreamEvent["type"]>(
  events: readonly { readonly type: string }[],
  type: T,
): StreamEventOf<T>[] {
  return events.filter((event) => event.type === type) as StreamEventOf<T>[];
}

/** The only event of its type; anything else is a failure. */
export function onlyOf<T extends StreamEvent["type"]>(
  events: readonly { readonly type: string }[],
  type: T,
): StreamEventOf<T> {
  const found = eventsOf(events, type);
  const [only] = found;
  assert(only !== undefined && found.length === 1, `${found.length} ${type}, where 1 is expected`);
  return only;
}

export function typesOf(events: readonly { readonly type: string }[]): string[] {
  return events.map(({ type }) => type);
}
