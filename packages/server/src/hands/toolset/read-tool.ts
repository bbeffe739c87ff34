import { z } from "zod";
import type { Sandbox } from "../../core/ports/sandbox.ts";
import { bounded, decoded } from "./excerpt.ts";
import {
  parseInput,
  refusalsOf,
  resolvePath,
  success,
  type ToolContext,
  ToolError,
  type ToolText,
} from "./tool-call.ts";

const FILE_BYTES_MAX = 256 * 1024;
/** Of selected lines; the longer text is then kept in a file and shown in part. */
const RANGE_BYTES_MAX = 4 * 1024 * 1024;
const SCAN_BYTES_MAX = 2 * 1024 * 1024 * 1024;
const CHUNK_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;

const ReadInput = z.object({
  file_path: z.string().min(1, "is required"),
  view_range: z.array(z.number().int()).nullish(),
});

export async function readTool(input: unknown, context: ToolContext): Promise<ToolText> {
  const { file_path, view_range } = parseInput("read", ReadInput, input);
  const range = lineRange(view_range ?? []);
  const reading = range
    ? readLines(context, file_path, range)
    : readWhole(context.sandbox, file_path);
  const text = decoded(await refusalsOf("read", file_path, reading));
  return success(await bounded(context.sandbox, "read", text));
}

async function readWhole(sandbox: Sandbox, filePath: string): Promise<Uint8Array> {
  const range = { offset: 0, limit: FILE_BYTES_MAX + 1 };
  const { bytes, size_bytes } = await sandbox.read(resolvePath(filePath), range);
  if (bytes.byteLength <= FILE_BYTES_MAX) return bytes;
  throw new ToolError(
    `read: ${filePath} is ${size_bytes} bytes, more than ${FILE_BYTES_MAX}: use view_range to read a part of it, such as [1, 500]`,
  );
}

interface LineRange {
  /** Counted from 0. */
  readonly first: number;
  /** The line after the last. */
  readonly end: number;
}

function lineRange(given: readonly number[]): LineRange | undefined {
  const [start, last] = given;
  if (start === undefined) return undefined;
  if (last === undefined || given.length !== 2) {
    throw new ToolError("read: view_range: must be [start_line, end_line]");
  }
  if (last > 0 && last < start) {
    throw new ToolError(`read: view_range: line ${last} is before line ${start}`);
  }
  return { first: Math.max(0, start - 1), end: last > 0 ? last : Number.POSITIVE_INFINITY };
}

/** Goes through the file in pieces, so that neither a long file nor a long line is held whole. */
async function readLines(
  { sandbox, signal }: ToolContext,
  filePath: string,
  range: LineRange,
): Promise<Uint8Array> {
  const path = resolvePath(filePath);
  const lines = new SelectedLines(range);
  for (let offset = 0; ; ) {
    if (signal.aborted) throw new ToolError("read: cancelled");
    if (offset > SCAN_BYTES_MAX) {
      throw new ToolError(`read: ${filePath} is too large to find that line in it`);
    }
    const { bytes } = await sandbox.read(path, { offset, limit: CHUNK_BYTES });
    if (bytes.byteLength === 0) break;
    lines.take(Buffer.from(bytes));
    if (lines.bytes > RANGE_BYTES_MAX) {
      throw new ToolError(
        `read: view_range: those lines of ${filePath} are more than ${RANGE_BYTES_MAX} bytes`,
      );
    }
    if (lines.isComplete || bytes.byteLength < CHUNK_BYTES) break;
    offset += bytes.byteLength;
  }
  if (lines.isBeyond) {
    throw new ToolError(`read: view_range: ${filePath} has only ${lines.count} lines`);
  }
  return lines.content();
}

class SelectedLines {
  readonly #range: LineRange;
  readonly #pieces: Buffer[] = [];
  /** Newlines seen. */
  #line = 0;
  #isAtLineStart = true;
  bytes = 0;

  constructor(range: LineRange) {
    this.#range = range;
  }

  get isComplete(): boolean {
    return this.#line >= this.#range.end;
  }

  /** Lines in what was seen; a last one needs no newline. */
  get count(): number {
    return this.#line + (this.#isAtLineStart ? 0 : 1);
  }

  get isBeyond(): boolean {
    return this.#range.first > 0 && this.count <= this.#range.first;
  }

  take(chunk: Buffer): void {
    for (let at = 0; at < chunk.byteLength && !this.isComplete; ) {
      const newline = chunk.indexOf(NEWLINE, at);
      const end = newline < 0 ? chunk.byteLength : newline + 1;
      if (this.#line >= this.#range.first) {
        this.#pieces.push(chunk.subarray(at, end));
        this.bytes += end - at;
      }
      if (newline >= 0) this.#line += 1;
      this.#isAtLineStart = newline >= 0;
      at = end;
    }
  }

  /** Without the newline after the last line of a range that has an end. */
  content(): Buffer {
    const content = Buffer.concat(this.#pieces);
    const isCut = this.isComplete && content.at(-1) === NEWLINE;
    return isCut ? content.subarray(0, -1) : content;
  }
}
