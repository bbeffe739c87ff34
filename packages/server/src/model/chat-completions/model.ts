import OpenAI from "openai";
import type { Model, ModelObserver, ModelOutcome } from "../../core/ports/model.ts";
import { type FailureContext, messageScrubber } from "../model-failure.ts";
import { ownFetch } from "../own-fetch.ts";
import { type Provider, type ProviderRequest, revealed } from "../provider.ts";
import { ResponseBuilder } from "../response-builder.ts";
import { type ResponseWatch, WATCH_LIMITS, type WatchLimits } from "../response-watch.ts";
import { told, watched } from "../watched.ts";
import { type Answered, answered } from "./answered.ts";
import { ChunkEvents } from "./chunk-events.ts";
import { chatFailure } from "./failure.ts";
import { chatBody, type Dialect } from "./request.ts";
import { namesBack } from "./tool-names.ts";

export interface ChatCompletionsModelOptions
  extends Pick<Provider, "baseUrl" | "apiKey">,
    Partial<Dialect> {
  readonly headers?: Provider["headers"];
  readonly limits?: Partial<WatchLimits>;
}

/** Models behind a chat completions API: of OpenAI's shape, by whoever speaks it. */
export class ChatCompletionsModel implements Model {
  readonly #client: OpenAI;
  readonly #fetch: typeof fetch;
  readonly #limits: WatchLimits;
  readonly #failure: FailureContext;
  readonly #dialect: Dialect;

  constructor(options: ChatCompletionsModelOptions) {
    const { baseUrl, leaveOut = [], maxTokensField = "max_tokens", sendReasoningAs } = options;
    const apiKey = options.apiKey?.reveal() ?? "none";
    const headers = revealed(options.headers ?? {});
    this.#limits = { ...WATCH_LIMITS, ...options.limits };
    this.#failure = {
      scrub: messageScrubber([apiKey, ...Object.values(headers)]),
      origin: new URL(baseUrl).origin,
    };
    this.#dialect = {
      leaveOut,
      maxTokensField,
      ...(sendReasoningAs !== undefined && { sendReasoningAs }),
    };
    this.#fetch = ownFetch({ apiKey, headers });
    this.#client = new OpenAI({
      baseURL: baseUrl.replace(/\/+$/, ""),
      apiKey,
      // The environment may name others, which are not this provider's.
      organization: null,
      project: null,
      adminAPIKey: null,
      fetch: this.#fetch,
      maxRetries: 0,
      // The watch has the limits; this one must not be the shorter.
      timeout: this.#limits.totalMs + 1_000,
      // A redirect would carry the conversation to a host that nobody configured.
      fetchOptions: { redirect: "error" },
      logLevel: "off",
    });
  }

  respond(
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
    const seen: Answered = { sawDone: false, errorBody: undefined };
    try {
      const client = this.#client.withOptions({
        fetch: async (url, init) => answered(watch.counted(await this.#fetch(url, init)), seen),
      });
      // `chat.completions.create` is this call, typed for OpenAI's own models.
      const { data, request_id } = await client
        .post<AsyncIterable<unknown>>("/chat/completions", {
          body: chatBody(request, this.#dialect),
          stream: true,
          signal: watch.signal,
        })
        .withResponse();
      const events = new ChunkEvents(namesBack(request));
      for await (const chunk of data) {
        if (watch.signal.aborted) break;
        watch.sawEvent();
        for (const event of events.take(chunk)) builder.take(event);
      }
      for (const event of events.end(seen)) builder.take(event);
      return { type: "response", ...builder.finish(), request_id: request_id ?? events.id };
    } catch (error) {
      return { ...chatFailure(error, this.#failure, seen.errorBody), ...told(builder) };
    }
  }
}
