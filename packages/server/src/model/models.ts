import type { Model, ModelObserver, ModelRequest, OfferedModel } from "../core/ports/model.ts";
import type { Secret } from "../lib/secret.ts";
import { AnthropicModel, type AnthropicModelOptions } from "./anthropic.ts";
import { OfflineModel, type OfflineModelOptions } from "./offline.ts";

const ANTHROPIC_URL = "https://api.anthropic.com";
const OFFLINE_PREFIX = "offline/";
const OFFLINE_MAX_INPUT_TOKENS = 1_000_000;
const OFFLINE_MAX_TOKENS = 128_000;

export interface ModelsConfig {
  /** Of a Messages API. Without one, but with a key, it is Anthropic's. */
  readonly baseUrl?: string;
  readonly apiKey?: Secret;
  /** The models of that API, as far as they are known here: whose aliases it need not know. */
  readonly models?: readonly OfferedModel[];
  readonly limits?: AnthropicModelOptions["limits"];
  readonly offline?: OfflineModelOptions;
}

const OFFLINE_MODELS: readonly OfferedModel[] = [
  offlineModel("offline/script", "Offline: follows a script", ["offline"]),
  offlineModel("offline/echo", "Offline: follows a script, else repeats what it is told", []),
];

/** All models of a server, by the agent's model id: `offline/…` here, any other at the Messages API. */
export class Models implements Model {
  readonly #offline: OfflineModel;
  readonly #api: AnthropicModel | undefined;
  readonly #aliases: ReadonlyMap<string, string>;

  constructor(config: ModelsConfig) {
    const { baseUrl, apiKey, limits } = config;
    this.#offline = new OfflineModel(config.offline);
    this.#aliases = aliasesOf(offeredModels(config));
    this.#api =
      baseUrl === undefined && apiKey === undefined
        ? undefined
        : new AnthropicModel({
            baseUrl: baseUrl ?? ANTHROPIC_URL,
            ...(apiKey !== undefined && { apiKey }),
            ...(limits !== undefined && { limits }),
          });
  }

  async respond(request: ModelRequest, observer: ModelObserver, signal: AbortSignal) {
    const model = this.#aliases.get(request.model) ?? request.model;
    if (isOffline(model)) return this.#offline.respond({ ...request, model }, observer, signal);
    if (this.#api === undefined) return notConfigured(model);
    return this.#api.respond({ ...request, model }, observer, signal);
  }
}

/** True for the models that ship with the server and need nothing. */
function isOffline(modelId: string): boolean {
  return modelId.startsWith(OFFLINE_PREFIX);
}

/** The models that are known without asking an API: those that ship with the server, and the given. */
export function offeredModels({ models = [] }: Pick<ModelsConfig, "models">) {
  return [...OFFLINE_MODELS, ...models];
}

/** From alias to id. */
function aliasesOf(models: readonly OfferedModel[]): ReadonlyMap<string, string> {
  return new Map(models.flatMap(({ info, aliases }) => aliases.map((alias) => [alias, info.id])));
}

function notConfigured(model: string) {
  const message = `No API is set up for the model ${model}. Set DROVER_MODEL_API_KEY for Anthropic's, or DROVER_MODEL_BASE_URL for another Messages API, and start the server again; models whose id begins with ${OFFLINE_PREFIX} need none.`;
  return { type: "failure", kind: "request_failed", message, retryable: false } as const;
}

function offlineModel(id: string, display_name: string, aliases: readonly string[]): OfferedModel {
  return {
    aliases,
    hasFastMode: false,
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
