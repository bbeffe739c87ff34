import Anthropic from "@anthropic-ai/sdk";
import type {
  Model,
  ModelBlock,
  ModelMessage,
  ModelObserver,
  ModelOutcome,
} from "../core/ports/model.ts";
import { isRecord } from "../lib/is-record.ts";
import type { Secret } from "../lib/secret.ts";
import { type FailureContext, failureOf, messageScrubber } from "./model-failure.ts";
import { ownFetch } from "./own-fetch.ts";
import { type ProviderRequest, revealed, UNSIGNED } from "./provider.ts";
import { ResponseBuilder } from "./response-builder.ts";
import { ResponseWatch, WATCH_LIMITS, type WatchLimits } from "./response-watch.ts";
import { told, watched } from "./watched.ts";

const ONE_TOOL = { type: "auto", disable_parallel_tool_use: true };
/** Of the answer to a count, which is one number. */
const COUNT_BYTES_MAX = 64 * 1024;
const FAST_MODE_BETA = "fast-mode-2026-02-01";

export interface AnthropicModelOptions {
  /** Of the API, with or without `/v1` at its end. */
  readonly baseUrl: string;
  /** Sent as a bearer token. A server of one's own that wants none gets a placeholder. */
  readonly apiKey?: Secret;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, Secret>>;
  readonly limits?: Partial<WatchLimits>;
}

/** Models behind a Messages API: Anthropic's own, or any server that speaks it. */
export class AnthropicModel implements Model {
  readonly #client: Anthropic;
  readonly #fetch: typeof fetch;
  readonly #limits: WatchLimits;
  readonly #failure: FailureContext;

  constructor(options: AnthropicModelOptions) {
    const apiKey = options.apiKey?.reveal() ?? "none";
    this.#limits = { ...WATCH_LIMITS, ...options.limits };
    const headers = revealed(options.headers ?? {});
    const secrets = [apiKey, ...Object.values(headers)];
    this.#failure = { scrub: messageScrubber(secrets), origin: new URL(options.baseUrl).origin };
    this.#fetch = ownFetch({ apiKey, headers });
    this.#client = new Anthropic({
      baseURL: options.baseUrl.replace(/\/+(v1\/*)?$/, ""),
      apiKey,
      fetch: this.#fetch,
      maxRetries: 0,
      // The watch has the limits; this one must not be the shorter.
      timeout: this.#limits.totalMs + 1_000,
      // A redirect would carry the conversation to a host that nobody configured.
      fetchOptions: { redirect: "error" },
      logLevel: "off",
      openTelemetry: false,
    });
  }

  /** Most servers that speak this API cannot count: whatever goes wrong is not knowing. */
  async count(request: ProviderRequest, signal: AbortSignal): Promise<number | undefined> {
    const watch = new ResponseWatch({ ...this.#limits, maxBytes: COUNT_BYTES_MAX }, signal);
    try {
      const client = this.#client.withOptions({
        fetch: async (url, init) => watch.counted(await this.#fetch(url, init)),
      });
      const { model, messages, system, tools } = bodyOf(request);
      const counted = await client.post<unknown>("/v1/messages/count_tokens", {
        body: { model, messages, system, tools },
        signal: watch.signal,
      });
      const tokens = isRecord(counted) ? counted["input_tokens"] : undefined;
      return typeof tokens === "number" && tokens >= 0 ? Math.ceil(tokens) : undefined;
    } catch {
      return undefined;
    } finally {
      watch.close();
    }
  }

  async respond(
    request: ProviderRequest,
    observer: ModelObserver,
    signal: AbortSignal,
  ): Promise<ModelOutcome> {
    const builder = new ResponseBuilder(observer);
    return watched(this.#limits, signal, builder, (watch) => this.#ask(request, builder, watch));
  }

  /** Never rejects, so that one who no longer listens leaves nothing behind. */
  async #ask(
    request: ProviderRequest,
    builder: ResponseBuilder,
    watch: ResponseWatch,
  ): Promise<ModelOutcome> {
    try {
      const client = this.#client.withOptions({
        fetch: async (url, init) => watch.counted(await this.#fetch(url, init)),
      });
      // `messages.create` is this call, after warnings to the console about old models.
      const { data, request_id } = await client
        .post<AsyncIterable<unknown>>("/v1/messages", {
          body: bodyOf(request),
          headers: request.speed === "fast" ? { "anthropic-beta": FAST_MODE_BETA } : {},
          stream: true,
          signal: watch.signal,
        })
        .withResponse();
      for await (const event of data) {
        if (watch.signal.aborted) break;
        watch.sawEvent();
        builder.take(event);
      }
      return { type: "response", ...builder.finish(), request_id: request_id ?? undefined };
    } catch (error) {
      return { ...failureOf(error, this.#failure), ...told(builder) };
    }
  }
}

/** What the configuration says of the model, and what the request says; every model has its own idea of what may be sent besides. */
function bodyOf(request: ProviderRequest): Readonly<Record<string, unknown>> {
  const { model, max_tokens, messages, system, tools, effort, speed, parameters } = request;
  return {
    ...parameters,
    model,
    max_tokens,
    messages: messages.map(withoutUnsigned),
    ...(system.length > 0 && { system }),
    ...(tools.length > 0 && { tools }),
    ...(tools.length > 0 && request.parallelTools === false && { tool_choice: ONE_TOOL }),
    ...(effort !== undefined && { output_config: { effort } }),
    ...(speed === "fast" && { speed }),
    stream: true,
  };
}

/** Thinking from a model of another API has no signature, and is refused. */
function withoutUnsigned(message: ModelMessage): ModelMessage {
  if (message.role !== "assistant" || !message.content.some(isUnsigned)) return message;
  return { ...message, content: message.content.filter((block) => !isUnsigned(block)) };
}

function isUnsigned(block: ModelBlock): boolean {
  return block.type === "thinking" && block["signature"] === UNSIGNED;
}
