import type { IncomingMessage } from "node:http";
import type { GateAnswer, GateRequest, SandboxGate } from "../../core/ports/sandbox.ts";
import type { Secret } from "../../lib/secret.ts";
import { askUpstream, type GitUpstreamOptions, UpstreamError } from "./git-upstream.ts";

/** What git inside is told the repository is at. */
export const GATE_URL = "http://127.0.0.1:3128/repository";

const REFS = "/info/refs";
const REFS_QUERY = "?service=git-upload-pack";
const PACK = "/git-upload-pack";
const BASE = new URL(GATE_URL).pathname;
const REDIRECTS_MAX = 3;
/** What git says of its requests; nothing else of them goes on. Answers are to come as they are to be read. */
const REQUEST_HEADERS = [
  "accept",
  "content-encoding",
  "content-length",
  "content-type",
  "git-protocol",
  "user-agent",
];
const ANSWER_HEADERS = ["cache-control", "content-encoding", "content-type"];

/** Why a repository's server gave nothing. */
export type GateProblem =
  | { readonly type: "status"; readonly status: number }
  | { readonly type: "too_large" }
  /** A sentence. */
  | { readonly type: "failed"; readonly message: string };

export interface GitGateOptions extends GitUpstreamOptions {
  /** `https://host/owner/name`. */
  readonly url: string;
  /** Called for each request; undefined for a repository without a token. May throw. */
  readonly token: () => Secret | undefined;
  /** Of all answers together. */
  readonly bytesMax: number;
}

/**
 * What git in a sandbox reads one repository through, and nothing else: it can list its branches and fetch
 * from it. The token is added here and goes to the repository's own server alone; an answer that holds it
 * is cut off.
 */
export class GitGate {
  readonly #options: GitGateOptions;
  /** Where the server has moved the repository to. */
  #base: URL;
  #bytes = 0;
  #problem: GateProblem | undefined;

  constructor(options: GitGateOptions) {
    this.#options = options;
    this.#base = new URL(options.url);
  }

  /** The first that came up. */
  get problem(): GateProblem | undefined {
    return this.#problem;
  }

  /** Bytes that came from the server. */
  get bytes(): number {
    return this.#bytes;
  }

  readonly answer: SandboxGate = async (request, signal) => {
    try {
      return await this.#answer(request, signal);
    } catch (error) {
      this.#problem ??= {
        type: "failed",
        message: error instanceof UpstreamError ? error.message : "an internal error",
      };
      throw error;
    }
  };

  async #answer(request: GateRequest, signal: AbortSignal): Promise<GateAnswer> {
    const { method, path } = request;
    if (method === "GET" && path === `${BASE}${REFS}${REFS_QUERY}`) {
      return this.#passedOn(await this.#refs(request, signal), "advertisement");
    }
    if (method === "POST" && path === `${BASE}${PACK}`) {
      return this.#passedOn(await this.#pack(request, signal), "result");
    }
    return { status: 404, headers: {}, body: nothing() };
  }

  /** A server may say that the repository has another name by now, but not that it is elsewhere. */
  async #refs(request: GateRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const headers = this.#headers(request);
    for (let redirects = 0; ; redirects += 1) {
      const url = new URL(`${this.#base.href}${REFS}${REFS_QUERY}`);
      const response = await askUpstream({ method: "GET", url, headers }, this.#options, signal);
      const { statusCode = 0 } = response;
      if (statusCode < 300 || statusCode > 399 || statusCode === 304) return response;
      const { location } = response.headers;
      response.destroy();
      const moved = location === undefined ? undefined : movedTo(new URL(location, url), url);
      if (moved === undefined) {
        throw new UpstreamError("the server points to another place, which is not followed");
      }
      if (redirects === REDIRECTS_MAX) throw new UpstreamError("the server points on for ever");
      this.#base = moved;
    }
  }

  async #pack(request: GateRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const url = new URL(`${this.#base.href}${PACK}`);
    const { body } = request;
    const headers = this.#headers(request);
    return await askUpstream({ method: "POST", url, headers, body }, this.#options, signal);
  }

  #passedOn(response: IncomingMessage, kind: "advertisement" | "result"): GateAnswer {
    const { statusCode: status = 0, headers } = response;
    const expected = `application/x-git-upload-pack-${kind}`;
    const [type] = (headers["content-type"] ?? "").split(";");
    if (status !== 200 || type?.trim() !== expected) {
      // What else a server has to say is for nobody in a sandbox.
      response.destroy();
      this.#problem ??=
        status === 200
          ? { type: "failed", message: "what answers there is no git server" }
          : { type: "status", status };
      return { status: 502, headers: {}, body: nothing() };
    }
    const kept = ANSWER_HEADERS.flatMap((name) => {
      const value = headers[name];
      return typeof value === "string" ? [[name, value] as const] : [];
    });
    return { status, headers: Object.fromEntries(kept), body: this.#counted(response) };
  }

  async *#counted(response: IncomingMessage): AsyncGenerator<Uint8Array> {
    const token = this.#options.token();
    const secret = token && Buffer.from(token.reveal());
    let tail: Buffer = Buffer.alloc(0);
    try {
      for await (const chunk of response as AsyncIterable<Buffer>) {
        this.#bytes += chunk.byteLength;
        if (this.#bytes > this.#options.bytesMax) {
          this.#problem ??= { type: "too_large" };
          throw new UpstreamError("there is too much of it");
        }
        if (secret !== undefined) {
          const seen = Buffer.concat([tail, chunk]);
          if (seen.includes(secret)) throw new UpstreamError("the server sent the token back");
          tail = Buffer.from(seen.subarray(Math.max(0, seen.byteLength - secret.byteLength + 1)));
        }
        yield chunk;
      }
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.#problem ??= { type: "failed", message };
      throw error;
    } finally {
      response.destroy();
    }
  }

  #headers({ headers }: GateRequest): Readonly<Record<string, string>> {
    const kept = REQUEST_HEADERS.flatMap((name) => {
      const value = headers[name];
      return value === undefined ? [] : [[name, value] as const];
    });
    return { ...Object.fromEntries(kept), ...authorization(this.#options.token()) };
  }
}

/** As GitHub, GitLab, Gitea and others take a token in the place of a password. */
function authorization(token: Secret | undefined): Readonly<Record<string, string>> {
  if (token === undefined) return {};
  const pair = Buffer.from(`x-access-token:${token.reveal()}`).toString("base64");
  return { authorization: `Basic ${pair}` };
}

/** The repository's new base on the same server; undefined for any other place. */
function movedTo(to: URL, from: URL): URL | undefined {
  const isSame = to.protocol === from.protocol && to.host === from.host;
  const isPlain = to.username === "" && to.password === "" && to.hash === "";
  if (!isSame || !isPlain || to.search !== REFS_QUERY || !to.pathname.endsWith(REFS)) {
    return undefined;
  }
  return new URL(to.pathname.slice(0, -REFS.length), to);
}

async function* nothing(): AsyncGenerator<Uint8Array> {
  yield* [];
}
