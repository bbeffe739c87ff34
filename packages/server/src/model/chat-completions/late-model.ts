import type { Model, ModelObserver, ModelOutcome } from "../../core/ports/model.ts";
import type { ProviderRequest } from "../provider.ts";
import type { ChatCompletionsModelOptions } from "./model.ts";

/**
 * The same as `ChatCompletionsModel`, loaded with its first request: its client is a megabyte of code,
 * which would be read at every start, also of servers that never need it.
 */
export class LateChatCompletionsModel implements Model {
  readonly #options: ChatCompletionsModelOptions;
  #loaded: Promise<Model> | undefined;

  constructor(options: ChatCompletionsModelOptions) {
    this.#options = options;
  }

  async respond(
    request: ProviderRequest,
    observer: ModelObserver,
    signal: AbortSignal,
  ): Promise<ModelOutcome> {
    this.#loaded ??= import("./model.ts").then((it) => new it.ChatCompletionsModel(this.#options));
    const model = await this.#loaded;
    return await model.respond(request, observer, signal);
  }
}
