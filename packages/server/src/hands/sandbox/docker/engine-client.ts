import { type ClientRequest, type IncomingMessage, request } from "node:http";
import type { Duplex } from "node:stream";

/** The engine cannot be spoken to: it does not run, may not be spoken to, or says nothing in time. */
export class EngineUnreachableError extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = "EngineUnreachableError";
  }
}

/** The engine said no. */
export class EngineRefusalError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = "EngineRefusalError";
    this.status = status;
  }
}

export interface EngineRequest {
  readonly method: "GET" | "POST" | "DELETE";
  /** With its query, without a version: the engine's newest is taken. */
  readonly path: string;
  readonly json?: unknown;
  readonly tar?: Uint8Array;
}

/** Making a container on a busy machine takes seconds, and never this long. */
const ANSWER_MS = 60_000;
const ANSWER_BYTES_MAX = 8 * 1024 * 1024;

/** The API of a Docker Engine, over its socket. As much of it as sandboxes need. */
export class EngineClient {
  readonly socketPath: string;
  readonly #answerMs: number;

  constructor({ socketPath, answerMs = ANSWER_MS }: { socketPath: string; answerMs?: number }) {
    this.socketPath = socketPath;
    this.#answerMs = answerMs;
  }

  /** The answer's JSON; undefined if there is none. Rejects with the two errors above. */
  async ask(asked: EngineRequest): Promise<unknown> {
    const body = asked.tar ?? (asked.json === undefined ? undefined : JSON.stringify(asked.json));
    const sent = this.#send(asked, {
      ...(body !== undefined && {
        "content-type": asked.tar ? "application/x-tar" : "application/json",
        "content-length": String(Buffer.byteLength(body)),
      }),
    });
    const answered = Promise.withResolvers<IncomingMessage>();
    sent.once("response", answered.resolve);
    sent.once("error", answered.reject);
    sent.end(body);
    try {
      const answer = await answered.promise;
      return judged(answer, await textOf(answer));
    } catch (error) {
      throw this.#explained(error);
    }
  }

  /**
   * The one stream of a container's input and output, framed as the engine does. It ends with the
   * container; and its end is the end of the container's input.
   */
  async attach(container: string): Promise<Duplex> {
    const path = `/containers/${container}/attach?stream=1&stdin=1&stdout=1&stderr=1`;
    const sent = this.#send(
      { method: "POST", path },
      { connection: "Upgrade", upgrade: "tcp", "content-length": "0" },
    );
    const attached = Promise.withResolvers<Duplex>();
    sent.once("upgrade", (_answer, socket: Duplex, head: Buffer) => {
      if (head.byteLength > 0) socket.unshift(head);
      attached.resolve(socket);
    });
    sent.once("response", (answer: IncomingMessage) => {
      textOf(answer)
        .then((text) => judged(answer, text))
        .then(() => Promise.reject(new EngineUnreachableError("the engine gave no stream")))
        .catch(attached.reject);
    });
    sent.once("error", attached.reject);
    sent.end();
    try {
      const stream = await attached.promise;
      // The time-out was for the answer. From here on silence is what it may be.
      sent.setTimeout(0);
      return stream;
    } catch (error) {
      throw this.#explained(error);
    }
  }

  #send({ method, path }: EngineRequest, headers: Record<string, string>): ClientRequest {
    const { socketPath } = this;
    const sent = request({
      ...{ socketPath, method, path },
      headers: { host: "docker", ...headers },
      agent: false,
      timeout: this.#answerMs,
    });
    sent.once("timeout", () => sent.destroy(new Error(`no answer in ${this.#answerMs} ms`)));
    return sent;
  }

  #explained(error: unknown): Error {
    if (error instanceof EngineRefusalError || error instanceof EngineUnreachableError)
      return error;
    const reason = error instanceof Error ? error.message : String(error);
    const message = `the Docker Engine at ${this.socketPath} cannot be spoken to: ${reason}`;
    return new EngineUnreachableError(message, { cause: error });
  }
}

function judged({ statusCode = 0 }: IncomingMessage, text: string): unknown {
  const isGood = statusCode >= 200 && statusCode < 300;
  if (isGood) return text.trim() === "" ? undefined : parsed(text);
  const said = parsed(text);
  const message =
    typeof said === "object" && said !== null && "message" in said ? String(said.message) : text;
  throw new EngineRefusalError(statusCode, message.slice(0, 2_000).trim());
}

/** Some answers are several documents, of which none is asked for. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > ANSWER_BYTES_MAX) throw new Error("its answer is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
