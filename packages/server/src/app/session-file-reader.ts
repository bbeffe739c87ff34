import { createHash } from "node:crypto";
import { describeProblems, problemInJson } from "@drover/api";
import type { z } from "zod";
import { InvalidRequestError, PlatformError } from "../core/errors.ts";
import {
  ContentLine,
  EndLine,
  FILE_VERSION,
  FileLine,
  FirstLine,
  PieceLine,
  SessionLine,
} from "../core/sessions/session-file.ts";
import { isRecord } from "../lib/is-record.ts";
import { isDeeperThan } from "../lib/json-depth.ts";
import { linesOf } from "../lib/lines.ts";

/** An event's texts may be as long as a request's. */
const LINE_BYTES_MAX = 48 * 1024 * 1024;
const SESSION_BYTES_MAX = 4 * 1024 * 1024;
const TOTAL_BYTES_MAX = 4 * 1024 * 1024 * 1024;
const DEPTH_MAX = 200;
const FILES_MAX = 10_000;

interface Line {
  /** Which of the fields it has. */
  readonly kind: string;
  readonly value: unknown;
  readonly number: number;
  readonly bytes: number;
  /** Of everything before it; of the last line alone. */
  readonly sha256Before?: string;
}

/** What an event's line holds; only what all events have is looked at. */
export interface RawEvent {
  readonly value: unknown;
  readonly bytes: number;
  /** `line 7`, for sentences. */
  readonly place: string;
}

/**
 * Reads a session's file part by part, in the order they have, each once: `session`, `events`, `contents`,
 * `files`, and with them that the file is whole. Everything in it is untrusted: what is too much, in another
 * order or not of the format is the sender's error, which names the line.
 */
export class SessionFileReader {
  readonly #lines: AsyncGenerator<Line>;
  #next: Line | undefined;
  #counts = { events: 0, files: 0 };

  constructor(content: AsyncIterable<Uint8Array>) {
    this.#lines = parsedLines(content);
  }

  async session(): Promise<{ session: SessionLine; value: unknown }> {
    const first = await this.#take("drover");
    if (first === undefined) throw new InvalidRequestError("line 1: this is no session's file");
    const { drover, version } = isRecord(first.value) ? first.value : {};
    if (drover === "session" && typeof version === "number" && version > FILE_VERSION) {
      throw new InvalidRequestError(
        `line 1: the file has version ${version}, and this Drover reads versions up to ${FILE_VERSION}: import it with the newer Drover that wrote it`,
      );
    }
    parsed(FirstLine, first);
    const line = await this.#take("session");
    if (line === undefined) throw new InvalidRequestError("line 2: the session is missing");
    if (line.bytes > SESSION_BYTES_MAX) {
      throw new InvalidRequestError(`line 2: is longer than ${SESSION_BYTES_MAX} bytes`);
    }
    assertPlain(line);
    return { session: parsed(SessionLine, line), value: line.value };
  }

  async *events(): AsyncGenerator<RawEvent> {
    for (let line = await this.#take("event"); line; line = await this.#take("event")) {
      this.#counts.events += 1;
      yield { value: line.value, bytes: line.bytes, place: placeOf(line) };
    }
  }

  /** Each content with its bytes, which must be read before the next. */
  async *contents(): AsyncGenerator<ContentLine & { bytes: AsyncIterable<Uint8Array> }> {
    for (let line = await this.#take("content"); line; line = await this.#take("content")) {
      const content = parsed(ContentLine, line);
      yield { ...content, bytes: this.#bytesOf(content, placeOf(line)) };
    }
  }

  /** All of them; then the file must end, as what was counted and hashed of it says. */
  async filesAndEnd(): Promise<{ files: readonly FileLine[]; sha256: string }> {
    const files: FileLine[] = [];
    for (let line = await this.#take("file"); line; line = await this.#take("file")) {
      if (files.length === FILES_MAX) {
        throw new InvalidRequestError(`${placeOf(line)}: more than ${FILES_MAX} files`);
      }
      assertPlain(line);
      files.push(parsed(FileLine, line));
      this.#counts.files += 1;
    }
    const line = await this.#take("end");
    if (line === undefined) throw await this.#unexpected();
    const end = parsed(EndLine, line);
    const { events, files: count } = this.#counts;
    if (end.events !== events || end.files !== count || end.sha256 !== line.sha256Before) {
      throw new InvalidRequestError(
        `${placeOf(line)}: the file is not as it was written: its counts or its hash differ`,
      );
    }
    if ((await this.#peek()) !== undefined) throw await this.#unexpected();
    return { files, sha256: end.sha256 };
  }

  async *#bytesOf({ size_bytes }: ContentLine, place: string): AsyncGenerator<Uint8Array> {
    let size = 0;
    for (let line = await this.#take("bytes"); line; line = await this.#take("bytes")) {
      const piece = Buffer.from(parsed(PieceLine, line), "base64");
      size += piece.byteLength;
      if (size > size_bytes) break;
      yield piece;
    }
    if (size !== size_bytes) {
      throw new InvalidRequestError(`${place}: the content has not the size that is said`);
    }
  }

  async #take(kind: string): Promise<Line | undefined> {
    const line = await this.#peek();
    if (line?.kind !== kind) return undefined;
    this.#next = undefined;
    return line;
  }

  async #peek(): Promise<Line | undefined> {
    if (this.#next === undefined) {
      const { value, done } = await this.#lines.next();
      this.#next = done === true ? undefined : value;
    }
    return this.#next;
  }

  async #unexpected(): Promise<InvalidRequestError> {
    const line = await this.#peek();
    return new InvalidRequestError(
      line === undefined
        ? "the file was cut off: its last line is missing"
        : `${placeOf(line)}: ${JSON.stringify(line.kind.slice(0, 40))} is not expected here`,
    );
  }
}

async function* parsedLines(content: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  const hash = createHash("sha256");
  let total = 0;
  let number = 0;
  const tooLong = () =>
    new InvalidRequestError(`line ${number + 1}: is longer than ${LINE_BYTES_MAX} bytes`);
  for await (const bytes of linesOf(received(content), { bytesMax: LINE_BYTES_MAX, tooLong })) {
    number += 1;
    total += bytes.byteLength + 1;
    if (total > TOTAL_BYTES_MAX) {
      throw new InvalidRequestError(`the file is larger than ${TOTAL_BYTES_MAX} bytes`);
    }
    const line = lineOf(bytes, number);
    const isEnd = line.kind === "end";
    const place = { number, bytes: bytes.byteLength };
    yield { ...line, ...place, ...(isEnd && { sha256Before: hash.copy().digest("hex") }) };
    hash.update(bytes).update("\n");
  }
}

/** A client that goes away half-way is no fault of the server. */
async function* received(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* content;
  } catch (cause) {
    if (cause instanceof PlatformError) throw cause;
    throw new InvalidRequestError("the body was cut off", { cause });
  }
}

function lineOf(bytes: Uint8Array, number: number): Pick<Line, "kind" | "value"> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new InvalidRequestError(`line ${number}: is not JSON in UTF-8`, { cause });
  }
  if (!isRecord(value)) throw new InvalidRequestError(`line ${number}: is no JSON object`);
  if (isDeeperThan(value, DEPTH_MAX)) {
    throw new InvalidRequestError(`line ${number}: is nested deeper than ${DEPTH_MAX} levels`);
  }
  if (number === 1) return { kind: "drover" in value ? "drover" : "", value };
  const [kind = "", ...more] = Object.keys(value);
  if (more.length > 0) throw new InvalidRequestError(`line ${number}: has more than one field`);
  return { kind, value: value[kind] };
}

function parsed<T>(schema: z.ZodType<T>, line: Line): T {
  const result = schema.safeParse(line.value);
  if (result.success) return result.data;
  throw new InvalidRequestError(`${placeOf(line)}: ${describeProblems(result.error)}`);
}

/** Its texts go where no database takes NUL or half a character. */
function assertPlain(line: Line): void {
  const problem = problemInJson(line.value);
  if (problem !== undefined) throw new InvalidRequestError(`${placeOf(line)}: ${problem}`);
}

function placeOf({ number }: Line): string {
  return `line ${number}`;
}
