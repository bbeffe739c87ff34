import { randomUUID } from "node:crypto";
import { tamed } from "../../core/harness/tame.ts";
import { type Sandbox, SandboxFileError } from "../../core/ports/sandbox.ts";

/** A longer output is kept in a file inside the sandbox, and the model gets its two ends. */
export const OUTPUT_CHARS_MAX = 100_000;
export const SPILL_BYTES_MAX = 64 * 1024 * 1024;

const END_CHARS = 20_000;
const SPILL_FOLDER = "/mnt/session/.spill";
const ESCAPE = "\u001b";
const ESCAPE_SEQUENCE = new RegExp(`${ESCAPE}\\[[0-9;?]*[ -/]*[@-~]`, "g");

export function newSpillPath(tool: string): string {
  return `${SPILL_FOLDER}/${tool}-${randomUUID()}.txt`;
}

/** Text that every API and database takes; bytes that are no UTF-8 become U+FFFD. */
export function decoded(bytes: Uint8Array): string {
  // A byte order mark is a part of what a file holds or a program writes.
  return tamed(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));
}

/** A terminal's output as text: without colours and the newlines at its end. */
export function terminalText(text: string): string {
  return text.replaceAll(ESCAPE_SEQUENCE, "").trimEnd();
}

export interface LongOutput {
  readonly head: string;
  readonly tail: string;
  readonly totalBytes: number;
  readonly path: string;
  /** Bytes of it in the file. */
  readonly keptBytes: number;
}

export function excerpt({ head, tail, totalBytes, path, keptBytes }: LongOutput): string {
  const kept =
    keptBytes === 0
      ? "the rest could not be kept"
      : keptBytes < totalBytes
        ? `the first ${keptBytes} bytes are in ${path}`
        : `all of it is in ${path}`;
  return [
    tamed(withoutHalves(head.slice(0, END_CHARS))),
    `[output truncated: ${totalBytes} bytes; ${kept}]`,
    tamed(withoutHalves(tail.slice(-END_CHARS))),
  ].join("\n\n");
}

/** Without the half of a character that a cut has left at either end. */
function withoutHalves(text: string): string {
  return text.replace(/^[\uDC00-\uDFFF]/, "").replace(/[\uD800-\uDBFF]$/, "");
}

/** The text as it is, or if it is too long, an excerpt of it and the whole in a file. */
export async function bounded(sandbox: Sandbox, tool: string, text: string): Promise<string> {
  if (text.length <= OUTPUT_CHARS_MAX) return text;
  const bytes = Buffer.from(text);
  const path = newSpillPath(tool);
  const kept = bytes.subarray(0, SPILL_BYTES_MAX);
  const keptBytes = await keep(sandbox, path, kept);
  return excerpt({ head: text, tail: text, totalBytes: bytes.byteLength, path, keptBytes });
}

/** A full disk is no reason to give the model nothing. */
async function keep(sandbox: Sandbox, path: string, bytes: Uint8Array): Promise<number> {
  try {
    await sandbox.write(path, bytes);
    return bytes.byteLength;
  } catch (error) {
    if (error instanceof SandboxFileError) return 0;
    throw error;
  }
}
