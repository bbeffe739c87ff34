import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { lastUserText, scriptedByMessages } from "./behaviour.ts";
import { json, silence, stream, wait } from "./deliver.ts";
import { MODELS } from "./models.ts";
import { type CacheUse, PromptCache } from "./prompt-cache.ts";
import { makeReply, token } from "./respond.ts";
import type { RuleInput } from "./rules/rule.ts";
import { field, isObject, listOf } from "./rules/shape.ts";
import { judge, judgeCount } from "./rules.ts";
import { Signer } from "./signature.ts";
import { estimateTokens } from "./tokens.ts";
import type {
  Answer,
  Json,
  JsonObject,
  MessagesRequest,
  ModelSpec,
  Refusal,
  Script,
} from "./types.ts";

const MAX_READ_BYTES = 33 * 1024 * 1024;
const DEFAULT_KEPT = 10_000;
const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  404: "not_found_error",
  413: "request_too_large",
};

export interface MessagesApiOptions {
  /** Without one, user messages carry their own: see `scriptedByMessages`. */
  readonly script?: Script;
  readonly models?: readonly ModelSpec[];
  /** A smaller window than the models' own. Tokens. */
  readonly contextTokens?: number;
  /** Made up unless given. */
  readonly apiKey?: string;
  /** 0, any free one, unless given. Loopback only. */
  readonly port?: number;
  /** Signs thinking; give one to accept another double's thinking. */
  readonly secret?: string;
  /** The clock of the prompt cache, in milliseconds; the real one unless given. */
  readonly now?: () => number;
  /** How many requests and refusals are kept for the test to look at, the latest. */
  readonly keep?: number;
}

export interface MessagesApi {
  readonly url: string;
  readonly apiKey: string;
  /** Accepted requests to `/v1/messages`, oldest first. */
  readonly requests: readonly MessagesRequest[];
  /** Requests that broke a rule. A suite that drives a harness asserts that there are none. */
  readonly refusals: readonly Refusal[];
  /** Bodies of accepted requests to `/v1/messages/count_tokens`, oldest first. */
  readonly counts: readonly JsonObject[];
  /** How many accepted requests are being answered at this moment. */
  readonly active: number;
  /** Ends every answer at once. Requests after it are refused by the operating system. */
  close(): Promise<void>;
}

/** A Messages API on loopback that answers as told and refuses what the real one refuses. */
export async function startMessagesApi(options: MessagesApiOptions = {}): Promise<MessagesApi> {
  const double = new Double(options);
  const server = createServer((request, response) => double.handle(request, response));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    apiKey: double.apiKey,
    requests: double.requests,
    refusals: double.refusals,
    counts: double.counts,
    get active() {
      return double.active;
    },
    close: () =>
      new Promise((resolve) => {
        double.close();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

class Double {
  readonly apiKey: string;
  readonly requests: MessagesRequest[] = [];
  readonly refusals: Refusal[] = [];
  readonly counts: JsonObject[] = [];
  active = 0;
  readonly #models: readonly ModelSpec[];
  readonly #contextTokens: number | undefined;
  readonly #signer: Signer;
  readonly #next: (request: MessagesRequest) => Answer | Promise<Answer>;
  readonly #keep: number;
  readonly #cache: PromptCache;
  readonly #closed = new AbortController();
  #accepted = 0;

  constructor(options: MessagesApiOptions) {
    this.apiKey = options.apiKey ?? `sk-ant-api03-${token()}`;
    this.#models = options.models ?? MODELS;
    this.#contextTokens = options.contextTokens;
    this.#signer = new Signer(options.secret ?? "messages-api double");
    this.#next = nextAnswer(options.script ?? scriptedByMessages());
    this.#keep = options.keep ?? DEFAULT_KEPT;
    this.#cache = new PromptCache(options.now ?? Date.now);
  }

  close(): void {
    this.#closed.abort(new Error("the server is closing"));
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    const hungUp = new AbortController();
    response.once("close", () => hungUp.abort(new Error("the client hung up")));
    const signal = AbortSignal.any([hungUp.signal, this.#closed.signal]);
    this.#route(request, response, signal).catch((error: unknown) => {
      if (signal.aborted || response.headersSent) response.destroy();
      else error500(response, error);
    });
  }

  async #route(request: IncomingMessage, response: ServerResponse, signal: AbortSignal) {
    const path = new URL(request.url ?? "/", "http://double").pathname;
    if (request.method === "POST" && path === "/v1/messages") {
      return this.#messages(request, response, signal);
    }
    if (request.method === "POST" && path === "/v1/messages/count_tokens") {
      return this.#countTokens(request, response);
    }
    if (request.method === "GET" && path.startsWith("/v1/models")) {
      return this.#listModels(response, decodeURIComponent(path.slice("/v1/models/".length)));
    }
    request.resume();
    error(response, 404, `Not found: ${request.method} ${path}`);
  }

  async #messages(request: IncomingMessage, response: ServerResponse, signal: AbortSignal) {
    const input = await this.#read(request);
    const body = this.#accept(input, "/v1/messages", response);
    if (body === undefined) return;
    const accepted = { n: this.#accepted++, headers: input.headers, body };
    const asked = { ...accepted, lastUserText: lastUserText(body) };
    this.#remember(this.requests, asked);
    this.active += 1;
    try {
      await this.#answer(asked, response, signal);
    } finally {
      this.active -= 1;
    }
  }

  async #answer(asked: MessagesRequest, response: ServerResponse, signal: AbortSignal) {
    const { body } = asked;
    const answer = await this.#next(asked);
    const { fault, pacing } = answer;
    if (fault?.type === "reset") {
      response.destroy();
      return;
    }
    if (fault?.type === "silent") return silence(signal);
    if (fault?.type === "status") {
      await wait(pacing?.firstMs, signal);
      const { status, error_type, message, headers } = fault;
      error(response, status, message ?? `a ${status}`, {
        ...(error_type === undefined ? {} : { type: error_type }),
        ...(headers === undefined ? {} : { headers }),
        ...(fault.body === undefined ? {} : { body: fault.body }),
      });
      return;
    }
    const model = String(body["model"]);
    const cacheUse = this.#cacheUse(body);
    const reply = makeReply(answer, { model, cacheUse, signer: this.#signer });
    const requestId = `req_${token()}`;
    if (body["stream"] === true) {
      return stream(reply, { pacing, fault }, { response, requestId, signal });
    }
    await wait(pacing?.firstMs, signal);
    json(response, 200, reply, { "request-id": requestId });
  }

  #cacheUse(body: JsonObject): CacheUse {
    const model = this.#models.find(({ id }) => id === body["model"]);
    if (model !== undefined) return this.#cache.use(body, model);
    return { input: estimateTokens(body), read: 0, created: { "5m": 0, "1h": 0 } };
  }

  async #countTokens(request: IncomingMessage, response: ServerResponse) {
    const input = await this.#read(request);
    const body = this.#accept(input, "/v1/messages/count_tokens", response, judgeCount);
    if (body === undefined) return;
    this.#remember(this.counts, body);
    json(response, 200, { input_tokens: estimateTokens(body) }, {});
  }

  #listModels(response: ServerResponse, id: string): void {
    const data = this.#models.map(
      ({ id: model, display_name, created_at, max_input_tokens, max_tokens }) => ({
        type: "model",
        id: model,
        display_name,
        created_at,
        max_input_tokens,
        max_tokens,
      }),
    );
    if (id === "") {
      const ends = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
      json(response, 200, { data, has_more: false, ...ends }, {});
      return;
    }
    const found = data.find((model) => model.id === id);
    if (found === undefined) error(response, 404, `model: ${id}`);
    else json(response, 200, found, {});
  }

  async #read(request: IncomingMessage): Promise<RuleInput> {
    const chunks: Buffer[] = [];
    let rawBytes = 0;
    for await (const chunk of request) {
      rawBytes += chunk.length;
      if (rawBytes <= MAX_READ_BYTES) chunks.push(chunk);
    }
    const raw = Buffer.concat(chunks).toString("utf8");
    const parsed = parseJson(raw);
    const model = this.#models.find(({ id }) => id === field(parsed.body, "model"));
    return {
      headers: request.headers,
      rawBytes,
      raw,
      ...parsed,
      model,
      apiKey: this.apiKey,
      contextTokens: this.#contextTokens,
      signer: this.#signer,
    };
  }

  #accept(
    input: RuleInput,
    path: string,
    response: ServerResponse,
    judgeBy = judge,
  ): JsonObject | undefined {
    const verdict = judgeBy(input);
    if (verdict === undefined && isObject(input.body)) return input.body;
    const status = verdict?.rule.status ?? 400;
    const message = verdict?.message ?? "Input should be a valid dictionary";
    const rule = verdict?.rule.id ?? "body-object";
    this.#remember(this.refusals, { rule, status, message, path, body: input.body ?? null });
    error(response, status, message);
    return undefined;
  }

  #remember<T>(list: T[], item: T): void {
    list.push(item);
    if (list.length > this.#keep) list.shift();
  }
}

/** What a script answers next. */
export function nextAnswer(script: Script): (request: MessagesRequest) => Answer | Promise<Answer> {
  if (typeof script === "function") return (request) => script(request, request.n);
  return ({ n }) => {
    const answer = script[Math.min(n, script.length - 1)];
    if (answer === undefined) throw new Error("the script has no answers");
    return answer;
  };
}

/** A body as JSON, or why it is none. */
export function parseJson(raw: string): { body: Json | undefined; parseError: string | undefined } {
  try {
    return { body: JSON.parse(raw), parseError: undefined };
  } catch (cause) {
    return { body: undefined, parseError: cause instanceof Error ? cause.message : String(cause) };
  }
}

function error(
  response: ServerResponse,
  status: number,
  message: string,
  over: { type?: string; headers?: Readonly<Record<string, string>>; body?: string } = {},
): void {
  const requestId = `req_${token()}`;
  const type = over.type ?? ERROR_TYPES[status] ?? "api_error";
  const body = { type: "error", error: { type, message }, request_id: requestId };
  json(response, status, over.body ?? body, { "request-id": requestId, ...over.headers });
}

function error500(response: ServerResponse, cause: unknown): void {
  error(response, 500, cause instanceof Error ? cause.message : String(cause));
}

/**
 * What a harness sent as tool results in the last message of a request, by tool use id; a system message
 * may stand behind it.
 */
export function toolResultsOf(request: MessagesRequest): ReadonlyMap<string, JsonObject> {
  const messages = listOf(request.body["messages"]);
  const last = messages.findLast((message) => field(message, "role") !== "system");
  return new Map(
    listOf(field(last, "content")).flatMap((block) =>
      isObject(block) && block["type"] === "tool_result"
        ? [[String(block["tool_use_id"]), block] as const]
        : [],
    ),
  );
}
