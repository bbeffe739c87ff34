import type { Readable, Writable } from "node:stream";
import { SandboxFileError, SandboxGoneError } from "../../core/ports/sandbox.ts";
import { encodeFrame, type Field, type Frame, FrameReader } from "./frames.ts";

const REQUESTS_MAX = 1024;
const MESSAGE_CHARS_MAX = 1000;

interface Pending {
  readonly answer: PromiseWithResolvers<readonly Buffer[]>;
  readonly onOutput: ((chunk: Buffer) => void) | undefined;
  readonly timer: NodeJS.Timeout | undefined;
}

export interface AgentRequest {
  readonly op: string;
  readonly fields: readonly Field[];
  /** An agent that has not answered by then is taken for lost. Without one, it may take for ever. */
  readonly deadlineMs?: number;
  readonly onOutput?: (chunk: Buffer) => void;
}

/** Requests to one agent, many at a time. */
export class AgentConnection {
  readonly #input: Writable;
  readonly #onBroken: (why: string) => void;
  readonly #reader = new FrameReader();
  readonly #pending = new Map<number, Pending>();
  readonly #hello = Promise.withResolvers<undefined>();
  #lastId = 0;
  #gone: SandboxGoneError | undefined;

  /** `onBroken` is called once, when the agent breaks the protocol or does not answer. */
  constructor(input: Writable, output: Readable, onBroken: (why: string) => void) {
    this.#input = input;
    this.#onBroken = onBroken;
    // Nobody may be waiting for it when the sandbox dies first.
    this.#hello.promise.catch(() => undefined);
    input.on("error", () => this.#break("its agent does not listen"));
    output.on("error", () => this.#break("its agent cannot be heard"));
    output.on("data", (chunk: Buffer) => this.#take(chunk));
  }

  /** Resolves when the agent is ready. */
  get hello(): Promise<undefined> {
    return this.#hello.promise;
  }

  /**
   * Sends a request. `id` names it to other requests. The answer rejects with `SandboxFileError` if the
   * agent says no, and with `SandboxGoneError` if the connection ends.
   */
  request(request: AgentRequest): { id: number; answer: Promise<readonly Buffer[]> } {
    if (this.#gone) return { id: 0, answer: Promise.reject(this.#gone) };
    if (this.#pending.size >= REQUESTS_MAX) {
      const error = new SandboxFileError("EAGAIN", "too many requests to the sandbox at a time");
      return { id: 0, answer: Promise.reject(error) };
    }
    this.#lastId = (this.#lastId % 0x7fffffff) + 1;
    const id = this.#lastId;
    const { deadlineMs, onOutput } = request;
    const timer =
      deadlineMs === undefined
        ? undefined
        : setTimeout(() => this.#break("its agent did not answer in time"), deadlineMs);
    const answer = Promise.withResolvers<readonly Buffer[]>();
    this.#pending.set(id, { answer, onOutput, timer });
    this.#input.write(encodeFrame(id, request.op, request.fields));
    return { id, answer: answer.promise };
  }

  /** Rejects what is pending and what will be asked. */
  end(why: string): void {
    if (this.#gone) return;
    this.#gone = new SandboxGoneError(`the sandbox is gone: ${why}`);
    this.#hello.reject(this.#gone);
    for (const id of this.#pending.keys()) this.#settle(id)?.answer.reject(this.#gone);
  }

  /** Ends the connection because of what the agent did or did not do. */
  fail(why: string): void {
    this.#break(why);
  }

  #break(why: string): void {
    if (this.#gone) return;
    this.end(why);
    this.#onBroken(why);
  }

  #take(chunk: Buffer): void {
    if (this.#gone) return;
    try {
      for (const frame of this.#reader.push(chunk)) this.#handle(frame);
    } catch (error) {
      this.#break(error instanceof Error ? error.message : String(error));
    }
  }

  #handle(frame: Frame): void {
    if (frame.op === "h") this.#hello.resolve(undefined);
    // An answer to nothing is old or forged; there is nobody to give it to.
    const pending = this.#pending.get(frame.id);
    if (!pending) return;
    const [first, second] = frame.fields;
    if (frame.op === "o") pending.onOutput?.(first ?? Buffer.alloc(0));
    else if (frame.op === "r") this.#settle(frame.id)?.answer.resolve(frame.fields);
    else if (frame.op === "e") {
      const code = text(first) || "EIO";
      this.#settle(frame.id)?.answer.reject(new SandboxFileError(code, text(second) || code));
    } else throw new Error("the agent sent an unknown frame");
  }

  #settle(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    clearTimeout(pending?.timer);
    return pending;
  }
}

function text(bytes: Buffer | undefined): string {
  return (bytes ?? Buffer.alloc(0)).toString("utf8").slice(0, MESSAGE_CHARS_MAX);
}
