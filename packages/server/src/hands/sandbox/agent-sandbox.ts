import { randomBytes } from "node:crypto";
import type { EgressRecord, Recipe } from "../../core/ports/hands.ts";
import {
  type ExecRequest,
  type ExecResult,
  type FileContent,
  type FileStat,
  type RunRequest,
  type RunResult,
  type Sandbox,
  SandboxFileError,
  SandboxGoneError,
} from "../../core/ports/sandbox.ts";
import type { SandboxFacts } from "../../core/sandboxes/facts.ts";
import type { LimitHit } from "../../core/sandboxes/limits.ts";
import type { AgentConnection } from "./agent-connection.ts";
import { type AgentFields, fieldsOf } from "./agent-fields.ts";
import type { DiskRoom } from "./disk/disk-hits.ts";

/** What the agent reads at a time. Larger pieces gain little and make its idle memory many megabytes. */
const CHUNK_BYTES = 256 * 1024;
const COMMAND_BYTES_MAX = 1024 * 1024;
const PATH_BYTES_MAX = 4096;
const LIST_MAX = 20_000;
/** A timer takes no more than 31 bits of milliseconds. */
const TIMER_MS_MAX = 0x7fffffff;
const RUN_ATTEMPTS = 4;
/** Fields of one entry of a listing. */
const ENTRY_FIELDS = 5;

export interface AgentSandboxOptions {
  readonly handId: string;
  readonly connection: AgentConnection;
  /** An agent that needs longer for anything but a command is taken for lost. */
  readonly answerMs: number;
  /** Resolves with the reason when all processes are gone. */
  readonly closed: Promise<string>;
  /** Ends the sandbox; resolves when all processes are gone. */
  readonly end: () => Promise<void>;
  /** See `Sandbox.showFiles`. */
  readonly showFiles: (recipe: Recipe) => Promise<void>;
  readonly takeEgress: () => readonly EgressRecord[];
  /** The limits that were met since this was asked the last time. */
  readonly takeLimitHits: () => readonly LimitHit[];
  /** The limits on the disk that are met now; asks for what is left of the sandbox's own if it must. */
  readonly diskHits: (measure: () => Promise<DiskRoom>) => Promise<readonly LimitHit[]>;
  readonly facts: SandboxFacts;
}

/** A sandbox whose inside is `agent.pl`, however it was launched. */
export class AgentSandbox implements Sandbox {
  readonly handId: string;
  readonly closed: Promise<string>;
  readonly #connection: AgentConnection;
  readonly #answerMs: number;
  readonly #end: () => Promise<void>;
  readonly showFiles: (recipe: Recipe) => Promise<void>;
  readonly takeEgress: () => readonly EgressRecord[];
  readonly #takeLimitHits: () => readonly LimitHit[];
  readonly #diskHits: AgentSandboxOptions["diskHits"];
  #facts: SandboxFacts | undefined;
  /** The end of the last command that was asked for. Never rejects. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: AgentSandboxOptions) {
    this.handId = options.handId;
    this.closed = options.closed;
    this.#connection = options.connection;
    this.#answerMs = options.answerMs;
    this.#end = options.end;
    this.showFiles = options.showFiles;
    this.takeEgress = options.takeEgress;
    this.#takeLimitHits = options.takeLimitHits;
    this.#diskHits = options.diskHits;
    this.#facts = options.facts;
  }

  async exec(
    request: ExecRequest,
    onOutput: (chunk: Uint8Array) => void,
    signal: AbortSignal,
  ): Promise<ExecResult> {
    checkCommand(request.command);
    const before = this.#turn;
    const over = Promise.withResolvers<undefined>();
    this.#turn = before.then(() => over.promise);
    try {
      if (await abortedBefore(before, signal)) return { exitCode: null, ended: "cancelled" };
      return await this.#exec(request, onOutput, signal);
    } finally {
      over.resolve(undefined);
    }
  }

  async #exec(
    request: ExecRequest,
    onOutput: (chunk: Uint8Array) => void,
    signal: AbortSignal,
  ): Promise<ExecResult> {
    const { command, timeoutMs, spill } = request;
    const { answer } = this.#connection.request({
      op: "E",
      fields: [command, spill?.path ?? "", spill?.afterBytes ?? 0, spill?.bytesMax ?? 0],
      onOutput,
    });
    const stopped = await stoppedWhile(answer, timeoutMs, signal, () => this.#killAll());
    const fields = fieldsOf(await answer, this.#connection);
    const end = fields.text();
    const code = fields.integer();
    const result = {
      exitCode: end === "exit" && !stopped ? code : null,
      ended: stopped ?? ENDS.get(end) ?? "exited",
      output_bytes: fields.integer(),
      omitted_bytes: fields.integer(),
      spilled_bytes: fields.integer(),
    };
    const fullDisks = await this.#diskHits(async () => roomIn(fields));
    const limits = [...this.#takeLimitHits(), ...fullDisks];
    return limits.length > 0 ? { ...result, limits } : result;
  }

  async restartShell(): Promise<void> {
    await this.#killAll();
  }

  async run(request: RunRequest, signal: AbortSignal): Promise<RunResult> {
    for (let attempt = 1; ; attempt += 1) {
      if (signal.aborted) return { exitCode: null, ended: "cancelled", ...NO_OUTPUT };
      const result = await this.#run(request, signal);
      if (result) return result;
      if (attempt === RUN_ATTEMPTS) {
        const program = request.argv[0] ?? "";
        throw new SandboxFileError("EINTR", `${program} was killed together with the shell`);
      }
    }
  }

  /** Undefined if the program was killed because the shell had to be. */
  async #run(request: RunRequest, signal: AbortSignal): Promise<RunResult | undefined> {
    const { argv, timeoutMs, stdoutBytesMax } = request;
    const chunks: Buffer[] = [];
    let room = stdoutBytesMax;
    const { id, answer } = this.#connection.request({
      op: "X",
      fields: [stdoutBytesMax, ...argv.map(plainText)],
      onOutput: (chunk) => {
        // The agent keeps to the limit; what poses as the agent may not.
        if (chunk.byteLength <= room) chunks.push(Buffer.from(chunk));
        else this.#connection.fail("its agent sent more than it was asked for");
        room -= chunk.byteLength;
      },
    });
    const stopped = await stoppedWhile(answer, timeoutMs, signal, async () => {
      await this.#ask("C", [id]);
    });
    const fields = fieldsOf(await answer, this.#connection);
    const end = fields.text();
    const code = fields.integer();
    if (end === "killed" && !stopped) return undefined;
    return {
      exitCode: end === "exit" ? code : null,
      ended: stopped ?? (end === "full" ? "full" : "exited"),
      stdout: Buffer.concat(chunks),
      stderr: fields.bytes(),
    };
  }

  async read(path: string, range: { offset: number; limit: number }): Promise<FileContent> {
    checkPath(path);
    const chunks: Buffer[] = [];
    let { offset } = range;
    const end = range.offset + range.limit;
    for (;;) {
      const wanted = Math.min(CHUNK_BYTES, end - offset);
      const fields = await this.#ask("R", [path, offset, wanted]);
      const size_bytes = fields.integer();
      const bytes = fields.bytes();
      if (bytes.byteLength > wanted)
        this.#connection.fail("its agent sent more than was asked for");
      chunks.push(bytes);
      offset += bytes.byteLength;
      if (bytes.byteLength < wanted || offset >= end) {
        return { bytes: chunks.length === 1 ? bytes : Buffer.concat(chunks), size_bytes };
      }
    }
  }

  async write(path: string, content: Uint8Array): Promise<void> {
    await this.#write(path, content, []);
  }

  async writeIf(path: string, content: Uint8Array, version: string | null): Promise<boolean> {
    return await unlessStale(this.#write(path, content, [version ?? ""]));
  }

  async removeIf(
    path: string,
    { version, root }: { version: string; root: string },
  ): Promise<boolean> {
    checkPath(path);
    checkPath(root);
    return await unlessStale(this.#ask("U", [path, version, root]));
  }

  async #write(path: string, content: Uint8Array, condition: readonly string[]): Promise<void> {
    checkPath(path);
    try {
      await this.#send(path, content, condition);
    } catch (error) {
      if (!(error instanceof SandboxFileError) || !NO_ROOM.has(error.code)) throw error;
      throw new SandboxFileError(error.code, error.message, await this.#fullDisks());
    }
  }

  async #send(path: string, content: Uint8Array, condition: readonly string[]): Promise<void> {
    const token = randomBytes(8).toString("hex");
    for (let at = 0; ; at += CHUNK_BYTES) {
      const isLast = at + CHUNK_BYTES >= content.byteLength;
      const chunk = content.subarray(at, at + CHUNK_BYTES);
      await this.#ask("W", [token, path, chunk, isLast ? 1 : 0, ...condition]);
      if (isLast) return;
    }
  }

  async stat(path: string): Promise<FileStat | undefined> {
    checkPath(path);
    try {
      return (await this.#ask("S", [path])).stat(path);
    } catch (error) {
      if (error instanceof SandboxFileError && ABSENT.has(error.code)) return undefined;
      throw error;
    }
  }

  async list(path: string, limit: number): Promise<readonly FileStat[]> {
    checkPath(path);
    const fields = await this.#ask("L", [path, Math.min(limit, LIST_MAX)]);
    const found: FileStat[] = [];
    while (fields.remaining >= ENTRY_FIELDS && found.length < limit) {
      found.push(fields.stat(fields.text()));
    }
    return found;
  }

  takeFacts(): SandboxFacts | undefined {
    const facts = this.#facts;
    this.#facts = undefined;
    return facts;
  }

  async close(): Promise<void> {
    await this.#end();
  }

  /** A sandbox that dies meanwhile has answered all the same what it was asked before. */
  async #fullDisks(): Promise<readonly LimitHit[]> {
    try {
      return await this.#diskHits(async () => {
        return roomIn(await this.#ask("D", [KEPT_FOLDER]));
      });
    } catch (error) {
      if (error instanceof SandboxGoneError) return [];
      throw error;
    }
  }

  async #killAll(): Promise<void> {
    await this.#ask("K", []);
  }

  async #ask(op: string, fields: readonly (string | number | Uint8Array)[]): Promise<AgentFields> {
    const { answer } = this.#connection.request({ op, fields, deadlineMs: this.#answerMs });
    return fieldsOf(await answer, this.#connection);
  }
}

/** What an agent says of a command that did not end by itself. */
const ENDS: ReadonlyMap<string, ExecResult["ended"]> = new Map([
  ["killed", "cancelled"],
  ["lost", "lost"],
]);

/** Of the file system that is limited. */
const KEPT_FOLDER = "/workspace";
const NO_ROOM: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "EIO", "EROFS"]);
const ABSENT: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR"]);
/** What the agent answers where the file is not as it was to be. */
const STALE = "ESTALE";
const NO_OUTPUT = { stdout: new Uint8Array(), stderr: new Uint8Array() };

function roomIn(fields: AgentFields): DiskRoom {
  return { freeBytes: fields.integer(), freeFiles: fields.integer() };
}

async function unlessStale(done: Promise<unknown>): Promise<boolean> {
  try {
    await done;
    return true;
  } catch (error) {
    if (error instanceof SandboxFileError && error.code === STALE) return false;
    throw error;
  }
}

/** True if the signal is aborted before the promise, which never rejects, resolves. */
async function abortedBefore(promise: Promise<unknown>, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return true;
  const aborted = Promise.withResolvers<boolean>();
  const onAbort = () => aborted.resolve(true);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([promise.then(() => false), aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/**
 * Waits for the answer. When the time is over or the signal is aborted, stops the work, waits for the
 * stopping too and says which it was.
 */
async function stoppedWhile(
  answer: Promise<unknown>,
  timeoutMs: number,
  signal: AbortSignal,
  stop: () => Promise<void>,
): Promise<"timeout" | "cancelled" | undefined> {
  let reason: "timeout" | "cancelled" | undefined;
  let stopping: Promise<void> | undefined;
  const stopFor = (why: "timeout" | "cancelled") => {
    if (reason) return;
    reason = why;
    stopping = stop();
    // Awaited below, unless the answer rejects first for the same cause.
    stopping.catch(() => undefined);
  };
  const onAbort = () => stopFor("cancelled");
  const timer = setTimeout(() => stopFor("timeout"), Math.min(timeoutMs, TIMER_MS_MAX));
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    await answer;
    await stopping;
    return reason;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

function checkCommand(command: string): void {
  plainText(command);
  if (Buffer.byteLength(command) <= COMMAND_BYTES_MAX) return;
  throw new SandboxFileError("E2BIG", `a command may have ${COMMAND_BYTES_MAX} bytes`);
}

function checkPath(path: string): void {
  plainText(path);
  if (!path.startsWith("/")) throw new SandboxFileError("EINVAL", `${path} is not absolute`);
  if (Buffer.byteLength(path) < PATH_BYTES_MAX) return;
  throw new SandboxFileError("ENAMETOOLONG", "the path is too long");
}

function plainText(value: string): string {
  if (!value.includes("\0")) return value;
  throw new SandboxFileError("EINVAL", "NUL bytes are not possible here");
}
