import type { Model, ModelInfo, ModelObserver, ModelRequest } from "../core/ports/model.ts";
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
  /** What an agent's model id is called at that API, where it differs. */
  readonly modelIds?: Readonly<Record<string, string>>;
  readonly limits?: AnthropicModelOptions["limits"];
  readonly offline?: OfflineModelOptions;
}

const OFFLINE_MODELS: readonly ModelInfo[] = [
  offlineInfo("offline/script", "Offline: follows a script"),
  offlineInfo("offline/echo", "Offline: follows a script, else repeats what it is told"),
];

/** All models of a server, by the agent's model id: `offline/…` here, any other at the Messages API. */
export class Models implements Model {
  readonly #offline: OfflineModel;
  readonly #api: AnthropicModel | undefined;
  readonly #modelIds: Readonly<Record<string, string>>;

  constructor(config: ModelsConfig) {
    const { baseUrl, apiKey, limits } = config;
    this.#offline = new OfflineModel(config.offline);
    this.#modelIds = config.modelIds ?? {};
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
    if (isOffline(request.model)) return this.#offline.respond(request, observer, signal);
    if (this.#api === undefined) return notConfigured(request.model);
    const model = Object.hasOwn(this.#modelIds, request.model)
      ? (this.#modelIds[request.model] ?? request.model)
      : request.model;
    return this.#api.respond({ ...request, model }, observer, signal);
  }
}

/** True for the models that ship with the server and need nothing. */
export function isOffline(modelId: string): boolean {
  return modelId.startsWith(OFFLINE_PREFIX);
}

/** The models that can be named without asking an API: those that ship with the server. */
export function listModels(): readonly ModelInfo[] {
  return OFFLINE_MODELS;
}

function notConfigured(model: string) {
  const message = `No API is set up for the model ${model}. Set DROVER_MODEL_API_KEY for Anthropic's, or DROVER_MODEL_BASE_URL for another Messages API, and start the server again; models whose id begins with ${OFFLINE_PREFIX} need none.`;
  return { type: "failure", kind: "request_failed", message, retryable: false } as const;
}

function offlineInfo(id: string, display_name: string): ModelInfo {
  return {
    id,
    display_name,
    created_at: "2026-11-29T00:00:00Z",
    max_input_tokens: OFFLINE_MAX_INPUT_TOKENS,
    max_tokens: OFFLINE_MAX_TOKENS,
  };
}
