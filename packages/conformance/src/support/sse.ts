import assert from "node:assert/strict";
import type { Target } from "../target.ts";

/** One server-sent event as it came over the wire. */
export interface Frame {
  /** Undefined without an `event:` line. */
  readonly event: string | undefined;
  /** Joined, if there were several lines. */
  readonly data: string;
  readonly lines: readonly string[];
}

/** A stream below the official client: every line of it, also those that a client skips. */
export class WireStream {
  readonly response: Response;
  readonly #abort: AbortController;
  readonly #reader: ReadableStreamDefaultReader<string>;
  #rest = "";

  private constructor(response: Response, abort: AbortController) {
    assert(response.body !== null);
    this.response = response;
    this.#abort = abort;
    this.#reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** Resolves once the headers are there. */
  static async open(
    t: Target,
    path: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<WireStream> {
    const abort = new AbortController();
    t.closeAtEnd(abort);
    const response = await fetch(`${t.options.baseUrl}${path}`, {
      headers: { authorization: `Bearer ${t.options.apiKey}`, ...headers },
      signal: abort.signal,
    });
    return new WireStream(response, abort);
  }

  /** The next frame or comment; undefined at the end. What comes after the last blank line is lost. */
  async next(): Promise<Frame | undefined> {
    for (;;) {
      const end = this.#rest.indexOf("\n\n");
      if (end >= 0) {
        const text = this.#rest.slice(0, end);
        this.#rest = this.#rest.slice(end + 2);
        return frameOf(text);
      }
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      this.#rest += value;
    }
  }

  /** The frames up to the first with this name, that one included, without pings. */
  async to(event: string): Promise<Frame[]> {
    const frames: Frame[] = [];
    for (let frame = await this.next(); frame !== undefined; frame = await this.next()) {
      if (isPing(frame)) continue;
      frames.push(frame);
      if (frame.event === event) return frames;
    }
    assert.fail(`the stream ended before ${event}`);
  }

  /** What has come after the last blank line. */
  get unfinished(): string {
    return this.#rest;
  }

  close(): void {
    this.#abort.abort();
  }
}

/** A frame that clients skip: what keeps a quiet connection open. */
export function isPing({ event, lines }: Frame): boolean {
  return event === "ping" || lines.every((line) => line.startsWith(":"));
}

function frameOf(text: string): Frame {
  const lines = text.split("\n");
  const values = (name: string) =>
    lines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1));
  return {
    event: values("event")[0]?.trimStart(),
    data: values("data")
      .map((value) => value.trimStart())
      .join("\n"),
    lines,
  };
}
