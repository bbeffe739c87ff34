import type { ModelRequest, OfferedModel } from "../core/ports/model.ts";
import type { Secret } from "../lib/secret.ts";

/** A request as it goes to one provider: `model` is what the model is called there. */
export interface ProviderRequest extends ModelRequest {
  /** What the configuration sends with every request to that model. */
  readonly parameters?: Readonly<Record<string, unknown>>;
}

/** An API that runs models. */
export interface Provider {
  readonly name: string;
  readonly kind: "messages" | "chat_completions";
  readonly baseUrl: string;
  readonly apiKey?: Secret;
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, Secret>>;
}

/** A model and where it is. */
export interface ProvidedModel extends OfferedModel {
  /** Name of its provider; without one it is the server's default. */
  readonly provider?: string;
  /** What it is called there, if not by its id. */
  readonly upstreamId?: string;
  readonly parameters?: ProviderRequest["parameters"];
}

export function revealed(headers: Readonly<Record<string, Secret>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.reveal()]));
}
