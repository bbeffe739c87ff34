import { unreachable } from "../core/errors.ts";
import type {
  Model,
  ModelObserver,
  ModelOutcome,
  ModelPrices,
  ModelRequest,
  OfferedModel,
} from "../core/ports/model.ts";
import type { Secret } from "../lib/secret.ts";
import { AnthropicModel, type AnthropicModelOptions } from "./anthropic.ts";
import { LateChatCompletionsModel } from "./chat-completions/late-model.ts";
import { fitted } from "./fitting.ts";
import { OfflineModel, type OfflineModelOptions } from "./offline.ts";
import type { ProvidedModel, Provider, ProviderRequest } from "./provider.ts";
import { WATCH_LIMITS, type WatchLimits } from "./response-watch.ts";

const ANTHROPIC_URL = "https://api.anthropic.com";
const OFFLINE_PREFIX = "offline/";
const OFFLINE_MAX_INPUT_TOKENS = 1_000_000;
const OFFLINE_MAX_TOKENS = 128_000;
/** They cost nothing. So that budgets can be tried, they have prices: 1 and 5 dollars a million. */
const OFFLINE_PRICES: ModelPrices = {
  input: 1_000_000,
  output: 5_000_000,
  cache_read: 100_000,
  cache_write_5m: 1_250_000,
  cache_write_1h: 2_000_000,
};
const OFFLINE_MODELS: readonly OfferedModel[] = [
  offlineModel("offline/script", "Offline: follows a script", ["offline"]),
  offlineModel("offline/echo", "Offline: follows a script, else repeats what it is told", []),
];

export interface ModelsConfig {
  /** Of a Messages API. Without one, but with a key, it is Anthropic's. */
  readonly baseUrl?: string;
  readonly apiKey?: Secret;
  readonly providers?: readonly Provider[];
  /** The models of all of them, as far as they are known here. */
  readonly models?: readonly ProvidedModel[];
  readonly limits?: AnthropicModelOptions["limits"];
  readonly offline?: OfflineModelOptions;
}

/** All models of a server, by the agent's model id: `offline/…` here, any other at its provider. */
export class Models implements Model {
  readonly #offline: OfflineModel;
  readonly #default: Model | undefined;
  readonly #providers: ReadonlyMap<string, Model>;
  readonly #models: ReadonlyMap<string, ProvidedModel>;

  constructor(config: ModelsConfig) {
    const { baseUrl, apiKey, limits, providers = [] } = config;
    this.#offline = new OfflineModel(config.offline);
    this.#models = byName(offeredModels(config));
    this.#providers = new Map(providers.map((it) => [it.name, modelAt(it, limits)]));
    this.#default =
      baseUrl === undefined && apiKey === undefined
        ? undefined
        : new AnthropicModel({
            baseUrl: baseUrl ?? ANTHROPIC_URL,
            ...(apiKey !== undefined && { apiKey }),
            ...(limits !== undefined && { limits }),
          });
  }

  async count(request: ModelRequest, signal: AbortSignal): Promise<number | undefined> {
    const known = this.#models.get(request.model);
    const id = known?.info.id ?? request.model;
    if (isOffline(id)) return undefined;
    const { request: taken } = fitted(providerRequest(request, id, known), known?.abilities, id);
    return await this.#modelOf(known)?.count?.(taken, signal);
  }

  async respond(
    request: ModelRequest,
    observer: ModelObserver,
    signal: AbortSignal,
  ): Promise<ModelOutcome> {
    const known = this.#models.get(request.model);
    const id = known?.info.id ?? request.model;
    if (isOffline(id)) return this.#offline.respond({ ...request, model: id }, observer, signal);
    const model = this.#modelOf(known);
    if (model === undefined) return notConfigured(id);
    const asked = providerRequest(request, id, known);
    const { request: taken, heldBack } = fitted(asked, known?.abilities, id);
    const outcome = await model.respond(taken, observer, signal);
    if (outcome.type === "failure" || heldBack.length === 0) return outcome;
    return { ...outcome, held_back: heldBack };
  }

  #modelOf(known: ProvidedModel | undefined): Model | undefined {
    return known?.provider === undefined ? this.#default : this.#providers.get(known.provider);
  }
}

function modelAt(provider: Provider, usual: ModelsConfig["limits"]): Model {
  const { silenceMs } = provider;
  const limits = { ...usual, ...(silenceMs !== undefined && silentFor(silenceMs)) };
  const options = { ...provider, limits };
  switch (provider.kind) {
    case "messages":
      return new AnthropicModel(options);
    case "chat_completions":
      return new LateChatCompletionsModel(options);
    default:
      return unreachable(provider.kind);
  }
}

/** One that may be silent for so long may also send nothing but pings for so long. */
function silentFor(silenceMs: number): Partial<WatchLimits> {
  return { silenceMs, stalledMs: Math.max(silenceMs, WATCH_LIMITS.stalledMs) };
}

function providerRequest(
  request: ModelRequest,
  id: string,
  known: ProvidedModel | undefined,
): ProviderRequest {
  const limit = known?.info.max_tokens ?? undefined;
  return {
    ...request,
    model: known?.upstreamId ?? id,
    ...(limit !== undefined && {
      max_tokens: Math.min(request.max_tokens, limit),
      isLimitKnown: true,
    }),
    ...(known?.parameters !== undefined && { parameters: known.parameters }),
  };
}

/** True for the models that ship with the server and need nothing. */
function isOffline(modelId: string): boolean {
  return modelId.startsWith(OFFLINE_PREFIX);
}

/**
 * The models that are known without asking an API: those that ship with the server, and the given.
 * One that is given under the id of one that ships only changes that one's limits and prices.
 */
export function offeredModels({ models = [] }: Pick<ModelsConfig, "models">) {
  const given = new Map(models.map((model) => [model.info.id, model]));
  const shipped = OFFLINE_MODELS.map((model) => changed(model, given.get(model.info.id)));
  const ids = new Set(shipped.map(({ info }) => info.id));
  return [...shipped, ...models.filter(({ info }) => !ids.has(info.id))];
}

function changed(shipped: OfferedModel, given: ProvidedModel | undefined): OfferedModel {
  if (given === undefined) return shipped;
  const { max_input_tokens, max_tokens } = given.info;
  return {
    ...shipped,
    aliases: [...shipped.aliases, ...given.aliases],
    prices: given.prices ?? OFFLINE_PRICES,
    info: {
      ...shipped.info,
      max_input_tokens: max_input_tokens ?? shipped.info.max_input_tokens,
      max_tokens: max_tokens ?? shipped.info.max_tokens,
    },
  };
}

function byName(models: readonly ProvidedModel[]): ReadonlyMap<string, ProvidedModel> {
  return new Map(
    models.flatMap((model) => [model.info.id, ...model.aliases].map((name) => [name, model])),
  );
}

function notConfigured(model: string) {
  const message = `No API is set up for the model ${model}. Set DROVER_MODEL_API_KEY for Anthropic's, or DROVER_MODEL_BASE_URL for another Messages API, and start the server again; models whose id begins with ${OFFLINE_PREFIX} need none.`;
  return { type: "failure", kind: "request_failed", message, retryable: false } as const;
}

function offlineModel(id: string, display_name: string, aliases: readonly string[]): OfferedModel {
  return {
    aliases,
    hasFastMode: false,
    prices: OFFLINE_PRICES,
    info: {
      id,
      type: "model",
      display_name,
      created_at: "2026-11-29T00:00:00Z",
      line: null,
      lifecycle: "active",
      deprecated_at: null,
      retires_at: null,
      max_input_tokens: OFFLINE_MAX_INPUT_TOKENS,
      max_tokens: OFFLINE_MAX_TOKENS,
      allowed_fallback_models: null,
      capabilities: null,
    },
  };
}
