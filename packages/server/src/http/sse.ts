import type { ServerResponse } from "node:http";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { OpenStream } from "../app/streams.ts";
import type { StreamFrame } from "../app/streams-frame.ts";
import { InvalidRequestError, StoreUnavailableError } from "../core/errors.ts";
import { Wakeup } from "../lib/wakeup.ts";
import type { AppContext, HttpLog } from "./context.ts";
import { streamErrorBody } from "./errors.ts";

export interface StreamLimits {
  /** Milliseconds between pings; clients give up on silence after about 300 s. */
  readonly pingMs: number;
  /** Milliseconds after which a reader that takes nothing is dropped. */
  readonly stallMs: number;
  /** Streams open at once in this process. */
  readonly streamsMax: number;
}

export const STREAM_LIMITS: StreamLimits = {
  pingMs: 15_000,
  stallMs: 600_000,
  streamsMax: 10_000,
};

const PING = frameText({ type: "ping", data: '{"type":"ping"}' });

/** The open streams of a process. */
export class Streams {
  readonly #limits: StreamLimits;
  readonly #log: HttpLog;
  readonly #open = new Set<Connection>();
  #isClosed = false;

  constructor(options: { limits: StreamLimits; log: HttpLog; shutdown: AbortSignal }) {
    this.#limits = options.limits;
    this.#log = options.log;
    options.shutdown.addEventListener("abort", () => {
      this.#isClosed = true;
      for (const connection of this.#open) connection.end();
    });
  }

  /**
   * Answers with the stream that `open` attaches, its headers sent at once: clients wait for them
   * before they read the history. Rejects, nothing sent, as `open` does.
   */
  async respond(c: AppContext, open: (wake: () => void) => Promise<OpenStream>): Promise<Response> {
    const outgoing = c.env?.outgoing;
    // Under `app.request(…)`, and for HEAD, there is nothing to stream on.
    if (outgoing === undefined || outgoing.req.method !== "GET") {
      throw new InvalidRequestError("a stream needs a GET request over a connection");
    }
    if (this.#isClosed || this.#open.size >= this.#limits.streamsMax) {
      throw new StoreUnavailableError("this server takes no more streams now");
    }
    const wakeup = new Wakeup();
    const connection = new Connection({ outgoing, wakeup, limits: this.#limits });
    this.#open.add(connection);
    try {
      const stream = await open(() => wakeup.notify());
      outgoing.writeHead(200, headersOf(c));
      outgoing.flushHeaders();
      // Apart, so that an idle stream does not keep the request and its context in memory.
      void this.#pump(connection, stream, c.get("requestId"));
    } catch (error) {
      this.#open.delete(connection);
      throw error;
    }
    return RESPONSE_ALREADY_SENT;
  }

  /** Never rejects. */
  async #pump(connection: Connection, stream: OpenStream, requestId: string): Promise<void> {
    try {
      await connection.pump(stream);
    } catch (error) {
      this.#log.error({ err: error, request_id: requestId }, "a stream failed");
      connection.fail(requestId);
    } finally {
      this.#open.delete(connection);
    }
  }
}

/** Node's own response as a reader of frames; hono's web stream costs twice as much a delivery. */
class Connection {
  readonly #outgoing: ServerResponse;
  readonly #wakeup: Wakeup;
  readonly #limits: StreamLimits;
  #isOver = false;

  constructor(options: { outgoing: ServerResponse; wakeup: Wakeup; limits: StreamLimits }) {
    this.#outgoing = options.outgoing;
    this.#wakeup = options.wakeup;
    this.#limits = options.limits;
    this.#outgoing.once("close", () => this.end());
    // A reader that resets its connection is over, nothing more.
    this.#outgoing.on("error", () => this.end());
  }

  end(): void {
    this.#isOver = true;
    this.#wakeup.notify();
  }

  /** Writes what the feed gives until it ends or the reader is gone. Rejects if the feed does. */
  async pump({ feed, close }: OpenStream): Promise<void> {
    const pings = setInterval(() => {
      if (!this.#outgoing.writableNeedDrain) this.#outgoing.write(PING);
      feed.recheck();
      this.#wakeup.notify();
    }, this.#limits.pingMs);
    try {
      while (!this.#isOver) {
        const { frames, ended } = await feed.pull();
        if (frames.length > 0) await this.#write(frames);
        else if (!ended) await this.#wakeup.wait();
        if (ended) this.#isOver = true;
      }
      this.#outgoing.end();
    } finally {
      clearInterval(pings);
      close();
    }
  }

  /** Tells the reader that the stream broke; it connects again and reads on from the list. */
  fail(requestId: string): void {
    if (this.#outgoing.writableEnded) return;
    const data = JSON.stringify(streamErrorBody(requestId));
    this.#outgoing.end(frameText({ type: "error", data }));
  }

  async #write(frames: readonly StreamFrame[]): Promise<void> {
    if (this.#isOver || this.#outgoing.write(frames.map(frameText).join(""))) return;
    const stalled = setTimeout(() => this.#outgoing.destroy(), this.#limits.stallMs);
    const onDrain = () => this.#wakeup.notify();
    this.#outgoing.once("drain", onDrain);
    try {
      while (this.#outgoing.writableNeedDrain && !this.#isOver) await this.#wakeup.wait();
    } finally {
      clearTimeout(stalled);
      this.#outgoing.off("drain", onDrain);
      // Whatever was announced meanwhile is looked for on the next round.
      this.#wakeup.notify();
    }
  }
}

function headersOf(c: AppContext): Record<string, string> {
  return {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
    "request-id": c.get("requestId"),
    "anthropic-workspace-id": c.get("principal").workspaceId,
  };
}

function frameText({ type, data }: StreamFrame): string {
  return `event: ${type}\ndata: ${data}\n\n`;
}
