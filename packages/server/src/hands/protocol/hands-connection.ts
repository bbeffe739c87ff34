import { Agent, type IncomingMessage, request } from "node:http";
import type { HandsFile } from "./hands-file.ts";
import { PROTOCOL_VERSION } from "./hands-file.ts";
import { ANSWER_BYTES_MAX, BootAnswer, PROTOCOL_HEADER } from "./messages.ts";

/** These hands could not be spoken to: nobody listens, somebody else does, or the line broke. */
export class HandsConnectionError extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = "HandsConnectionError";
  }
}

export interface HandsAnswer {
  readonly status: number;
  /** Undefined for an empty or unreadable body. */
  readonly body: unknown;
}

export interface HandsRequest {
  readonly method: "GET" | "PUT" | "POST" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
  /** Milliseconds without a byte from the other side after which the line counts as broken. */
  readonly silenceMs?: number;
}

const SILENCE_MS = 10_000;
const SOCKETS_MAX = 1_024;

/** A way to speak to one boot of the hands. Connections are kept between requests. */
export class HandsConnection {
  readonly boot: string;
  readonly installationId: string;
  readonly #file: HandsFile;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: SOCKETS_MAX });

  constructor(file: HandsFile) {
    this.boot = file.boot;
    this.installationId = file.installation_id;
    this.#file = file;
  }

  /** True if this very boot answers now. */
  async isAlive(): Promise<boolean> {
    try {
      const { status, body } = await this.send({ method: "GET", path: "/v1/boot" }, NEVER);
      return status === 200 && BootAnswer.safeParse(body).data?.boot === this.boot;
    } catch (error) {
      if (error instanceof HandsConnectionError) return false;
      throw error;
    }
  }

  /** Rejects with `HandsConnectionError`, also when the signal is aborted. */
  async send(message: HandsRequest, signal: AbortSignal): Promise<HandsAnswer> {
    const answer = await this.#exchange(message, signal);
    // The token is this boot's alone, so whoever refuses it is another.
    if (answer.status === 401) throw new HandsConnectionError("another boot of the hands answered");
    return answer;
  }

  close(): void {
    this.#agent.destroy();
  }

  #exchange(message: HandsRequest, signal: AbortSignal): Promise<HandsAnswer> {
    const { method, path, body, silenceMs = SILENCE_MS } = message;
    const { address, token } = this.#file;
    const text = body === undefined ? "" : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const fail = (cause: unknown) => {
        const what = cause instanceof Error ? cause.message : String(cause);
        reject(new HandsConnectionError(`${method} ${path}: ${what}`, { cause }));
      };
      const outgoing = request({
        ...(address.type === "socket"
          ? { socketPath: address.path }
          : { host: "127.0.0.1", port: address.port }),
        method,
        path,
        agent: this.#agent,
        signal,
        headers: {
          authorization: `Bearer ${token}`,
          [PROTOCOL_HEADER]: String(PROTOCOL_VERSION),
          "content-length": Buffer.byteLength(text),
        },
      });
      outgoing.setTimeout(silenceMs, () => {
        outgoing.destroy(new Error(`no answer within ${silenceMs} ms`));
      });
      outgoing.on("error", fail);
      outgoing.on("response", (response) => {
        readAnswer(response).then(resolve, fail);
      });
      outgoing.end(text);
    });
  }
}

const NEVER = new AbortController().signal;

async function readAnswer(response: IncomingMessage): Promise<HandsAnswer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += chunk.byteLength;
    if (bytes > ANSWER_BYTES_MAX) throw new Error(`an answer of over ${ANSWER_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString("utf8");
  return { status: response.statusCode ?? 0, body: text === "" ? undefined : JSON.parse(text) };
}
