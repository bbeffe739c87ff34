import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { lastUserText, scriptedByMessages } from "../messages-api/behaviour.ts";
import { json, silence, wait, write } from "../messages-api/deliver.ts";
import { token } from "../messages-api/respond.ts";
import { field, isObject } from "../messages-api/rules/shape.ts";
import { nextAnswer, parseJson } from "../messages-api/server.ts";
import { estimateTokens } from "../messages-api/tokens.ts";
import type {
  Answer,
  Fault,
  JsonObject,
  MessagesRequest,
  Refusal,
  Script,
} from "../messages-api/types.ts";
import { type ChunkContext, chunksOf, wholeBody } from "./chunks.ts";
import { FLAVOURS, type FlavourName } from "./flavours.ts";
import { CHAT_MODELS } from "./models.ts";
import type { ChatRuleInput } from "./rules/rule.ts";
import { judgeChat } from "./rules.ts";
import type { ChatError, ChatModelSpec, Flavour } from "./types.ts";

const MAX_READ_BYTES = 33 * 1024 * 1024;
const FLOOD_BYTES = 64 * 1024;
const READ_FIRST_MS = 20;

export interface ChatCompletionsOptions {
  /** Without one, user messages carry their own: see `scriptedByMessages`. */
  readonly script?: Script;
  readonly models?: readonly ChatModelSpec[];
  readonly flavour?: FlavourName;
  /** Made up unless given. */
  readonly apiKey?: string;
  /** 0, any free one, unless given. Loopback only. */
  readonly port?: number;
}

export interface ChatCompletions {
  /** With `/v1` at its end, as clients of the API want it. */
  readonly url: string;
  readonly apiKey: string;
  /** Accepted requests, oldest first. */
  readonly requests: readonly MessagesRequest[];
  /** Requests that broke a rule. A suite that drives a harness asserts that there are none. */
  readonly refusals: readonly Refusal[];
  /** How many accepted requests are being answered at this moment. */
  readonly active: number;
  /** Ends every answer at once. Requests after it are refused by the operating system. */
  close(): Promise<void>;
}

/** A chat completions API on loopback that answers as told and refuses what the real ones refuse. */
export async function startChatCompletions(
  options: ChatCompletionsOptions = {},
): Promise<ChatCompletions> {
  const double = new Double(options);
  const server = createServer((request, response) => double.handle(request, response));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    apiKey: double.apiKey,
    requests: double.requests,
    refusals: double.refusals,
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
  active = 0;
  readonly #models: readonly ChatModelSpec[];
  readonly #flavour: Flavour;
  readonly #next: (request: MessagesRequest) => Answer | Promise<Answer>;
  readonly #closed = new AbortController();

  constructor(options: ChatCompletionsOptions) {
    this.apiKey = options.apiKey ?? `sk-${token()}`;
    this.#models = options.models ?? CHAT_MODELS;
    this.#flavour = FLAVOURS[options.flavour ?? "openai"];
    this.#next = nextAnswer(options.script ?? scriptedByMessages());
  }

  close(): void {
    this.#closed.abort(new Error("the server is closing"));
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    const hungUp = new AbortController();
    response.once("close", () => hungUp.abort(new Error("the client hung up")));
    const signal = AbortSignal.any([hungUp.signal, this.#closed.signal]);
    this.#route(request, response, signal).catch((cause: unknown) => {
      if (signal.aborted || response.headersSent) response.destroy();
      else error(response, 500, told(cause instanceof Error ? cause.message : String(cause), 500));
    });
  }

  async #route(request: IncomingMessage, response: ServerResponse, signal: AbortSignal) {
    const path = new URL(request.url ?? "/", "http://double").pathname;
    if (request.method !== "POST" || path !== "/v1/chat/completions") {
      request.resume();
      error(response, 404, told(`Unknown request URL: ${request.method} ${path}.`, 404));
      return;
    }
    const input = await this.#read(request);
    const verdict = judgeChat(input);
    const { body } = input;
    if (verdict !== undefined || !isObject(body)) {
      const status = verdict?.rule.status ?? 400;
      const refused = verdict?.error ?? told("The body is not an object.", status);
      const rule = verdict?.rule.id ?? "body-object";
      this.refusals.push({ rule, status, message: refused.message, path, body: body ?? null });
      error(response, status, refused);
      return;
    }
    const n = this.requests.length;
    const asked = { n, headers: input.headers, body, lastUserText: lastUserText(body) };
    this.requests.push(asked);
    this.active += 1;
    try {
      await this.#answer(asked, response, signal);
    } finally {
      this.active -= 1;
    }
  }

  async #answer(
    { body, ...asked }: MessagesRequest,
    response: ServerResponse,
    signal: AbortSignal,
  ) {
    const answer = await this.#next({ body, ...asked });
    const { fault, pacing } = answer;
    if (fault?.type === "reset") {
      response.destroy();
      return;
    }
    if (fault?.type === "silent") return silence(signal);
    if (fault?.type === "status" && !this.#flavour.lateErrors) {
      const refused = told(fault.message ?? `a ${fault.status}`, fault.status, fault.error_type);
      error(response, fault.status, refused, fault.headers, fault.body);
      return;
    }
    const context: ChunkContext = {
      id: `chatcmpl-${token()}`,
      model: String(body["model"]),
      promptTokens: estimateTokens(body),
      isUsageAsked: field(body["stream_options"], "include_usage") === true,
      newId: () => `call_${token()}`,
    };
    if (this.#flavour.wholeBody || body["stream"] !== true) {
      await wait(pacing?.firstMs, signal);
      json(response, 200, wholeBody(answer, this.#flavour, context), headersOf());
      return;
    }
    await this.#stream(answer, context, { response, signal });
  }

  async #stream(
    answer: Answer,
    context: ChunkContext,
    { response, signal }: { response: ServerResponse; signal: AbortSignal },
  ): Promise<void> {
    const { fault, pacing } = answer;
    const { comment, done } = this.#flavour;
    response.writeHead(200, { "content-type": "text/event-stream", ...headersOf() });
    response.flushHeaders();
    await wait(pacing?.firstMs, signal);
    if (comment !== undefined) await write(response, `: ${comment}\n\n`, signal);
    if (fault?.type === "status") {
      const refused = told(fault.message ?? `a ${fault.status}`, fault.status);
      const choices = [{ index: 0, delta: { content: "" }, finish_reason: "error" }];
      const late: JsonObject = {
        id: context.id,
        error: { ...refused, code: fault.status },
        choices,
      };
      await write(response, `data: ${JSON.stringify(late)}\n\n`, signal);
      response.end();
      return;
    }
    const goesWrongAt = fault && "afterEvents" in fault ? fault.afterEvents : undefined;
    let count = 0;
    for (const chunk of chunksOf(answer, this.#flavour, context)) {
      if (count === goesWrongAt) break;
      // The first chunk has no text, and the next is what shows that an answer began.
      if (count > 1) await wait(pacing?.delayMs, signal);
      await write(response, `data: ${JSON.stringify(chunk)}\n\n`, signal);
      count += 1;
    }
    if (fault !== undefined && goesWrongAt !== undefined) await goWrong(fault, response, signal);
    else if (done) await write(response, "data: [DONE]\n\n", signal);
    if (!response.destroyed) response.end();
  }

  async #read(request: IncomingMessage): Promise<ChatRuleInput> {
    const chunks: Buffer[] = [];
    let rawBytes = 0;
    for await (const chunk of request) {
      rawBytes += chunk.length;
      if (rawBytes <= MAX_READ_BYTES) chunks.push(chunk);
    }
    const parsed = parseJson(Buffer.concat(chunks).toString("utf8"));
    return {
      headers: request.headers,
      rawBytes,
      ...parsed,
      model: this.#models.find(({ id }) => id === field(parsed.body, "model")),
      apiKey: this.apiKey,
      refuses: this.#flavour.refuses,
    };
  }
}

async function goWrong(fault: Fault, response: ServerResponse, signal: AbortSignal): Promise<void> {
  switch (fault.type) {
    case "cut":
      // A client drops what it has not read yet when the connection breaks, so let it read first.
      await wait(READ_FIRST_MS, signal);
      response.destroy();
      return;
    case "stall":
      return silence(signal);
    case "pings":
      for (;;) {
        await write(response, ": ping\n\n", signal);
        await wait(fault.everyMs, signal);
      }
    case "error_event": {
      const error = { message: fault.message ?? fault.error_type, type: fault.error_type };
      return write(response, `data: ${JSON.stringify({ error })}\n\n`, signal);
    }
    case "garbage":
      return write(response, "data: {not json\n\n", signal);
    case "flood":
      await write(response, "data: ", signal);
      for (;;) await write(response, "x".repeat(FLOOD_BYTES), signal);
    default:
      return;
  }
}

function told(message: string, status: number, code?: string): ChatError {
  const type = status >= 500 ? "server_error" : "invalid_request_error";
  return { message, type, param: null, code: code ?? null };
}

function headersOf(): Readonly<Record<string, string>> {
  return { "x-request-id": `req_${token()}` };
}

function error(
  response: ServerResponse,
  status: number,
  refused: ChatError,
  headers: Readonly<Record<string, string>> = {},
  body?: string,
): void {
  const { message, type, param, code } = refused;
  json(response, status, body ?? { error: { message, type, param, code } }, {
    ...headersOf(),
    ...headers,
  });
}
