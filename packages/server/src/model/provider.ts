import type { ModelRequest, OfferedModel } from "../core/ports/model.ts";
import type { Secret } from "../lib/secret.ts";

/** A request as it goes to one provider: `model` is what the model is called there. */
export interface ProviderRequest extends ModelRequest {
  /** What the configuration sends with every request to that model. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** True if `max_tokens` is known not to be more than the model can answer. */
  readonly isLimitKnown?: boolean;
  /** False to ask for one tool use at a time. */
  readonly parallelTools?: boolean;
}

/** The signature of thinking that nobody signed: an API that checks signatures is not sent it. */
export const UNSIGNED = "unsigned";

/** An API that runs models. */
export interface Provider {
  readonly name: string;
  readonly kind: "messages" | "chat_completions";
  readonly baseUrl: string;
  readonly apiKey?: Secret;
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, Secret>>;
  /** Milliseconds without a byte after which an answer is cut; as for all, unless given. */
  readonly silenceMs?: number;
  /** Parameters that a chat completions API refuses. */
  readonly leaveOut: readonly ("stream_options" | "parallel_tool_calls" | "max_tokens")[];
  readonly maxTokensField: "max_tokens" | "max_completion_tokens";
  /** The field in which a model's own thinking is sent back; without one it is not. */
  readonly sendReasoningAs?: "reasoning_content" | "reasoning";
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
