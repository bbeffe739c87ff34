import type { ModelInfo } from "@drover/api";

/**
 * A language model that speaks the Messages API's own vocabulary: blocks, stop reasons and usage
 * are what `POST /v1/messages` takes and gives. Adapters for other APIs translate at their edge.
 */

/** A content block exactly as the model API sent it or is to receive it. Never edited: thinking is signed. */
export type ModelBlock = { readonly type: string; readonly [key: string]: unknown };

export interface ModelMessage {
  /** `system` only between a user's message and an answer, and only for models that take it. */
  readonly role: "user" | "assistant" | "system";
  readonly content: readonly ModelBlock[];
}

export interface ModelTool {
  readonly name: string;
  readonly description: string;
  readonly input_schema: { readonly type: "object"; readonly [key: string]: unknown };
  /** Marks the end of a prefix for the prompt cache of an API that has one; others leave it out. */
  readonly cache_control?: { readonly type: "ephemeral" };
}

export type Effort = "low" | "medium" | "high" | "xhigh" | "max";

export interface ModelRequest {
  /** The agent's model id, before any mapping of ids. */
  readonly model: string;
  readonly system: readonly ModelBlock[];
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ModelTool[];
  /** Tokens. */
  readonly max_tokens: number;
  readonly effort?: Effort;
  readonly speed?: "standard" | "fast";
  /** `compaction`: a summary is asked for. For models that follow a script; others are told in words. */
  readonly purpose?: "compaction";
}

/**
 * Tokens, whole numbers; `input_tokens` without those that were read from the cache or written to it. A
 * count the API did not report is absent, which is not zero.
 */
export interface ModelUsage {
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly cache_creation_input_tokens?: number;
  readonly cache_read_input_tokens?: number;
  readonly cache_creation?: {
    readonly ephemeral_5m_input_tokens?: number;
    readonly ephemeral_1h_input_tokens?: number;
  };
  /** Tools that the API ran by itself; counts of requests. */
  readonly server_tool_use?: {
    readonly web_search_requests?: number;
    readonly web_fetch_requests?: number;
  };
}

/** What arrives while a response is being made. Best effort. */
export interface ModelObserver {
  blockStarted(index: number, type: string): void;
  textDelta(index: number, text: string): void;
  /** All that was reported so far, so that a request that is given up can be accounted for. */
  usageReported?(usage: ModelUsage): void;
}

export type ModelFailureKind =
  | "overloaded"
  | "rate_limited"
  | "billing"
  /** The connection broke, was silent for too long, or the stream ended early. */
  | "connection"
  /** The API answered with another error; `retryable` says whether asking again may help. */
  | "request_failed"
  /** The prompt does not fit the model: never retryable as it is. */
  | "prompt_too_long"
  | "aborted";

export interface UnreadableInput {
  /** Of the tool use, in `blocks`. */
  readonly index: number;
  /** The beginning of what the model sent instead of a JSON object; at most 1,000 characters. */
  readonly text: string;
}

export type ModelOutcome =
  | {
      readonly type: "response";
      /**
       * Complete blocks in the order of their index; tool inputs parsed, and objects. A tool use that
       * `max_tokens` cut off in the middle is left out, and named by `cut_call`.
       */
      readonly blocks: readonly ModelBlock[];
      /** Tool uses of which no object could be made: their `input` is empty, and this is what came. */
      readonly unreadable_inputs?: readonly UnreadableInput[];
      /** The tool whose use was cut off. */
      readonly cut_call?: string;
      /** `end_turn`, `tool_use`, `max_tokens`, `refusal` …; null if the API gave none. */
      readonly stop_reason: string | null;
      readonly stop_details?: ModelBlock | null;
      readonly usage: ModelUsage;
      /** What the model was not sent because it cannot take it: a sentence each, the same every time. */
      readonly held_back?: readonly string[];
      /** The API's own request id, for tracing. */
      readonly request_id: string | undefined;
    }
  | {
      readonly type: "failure";
      readonly kind: ModelFailureKind;
      /** A sentence for the log, scrubbed of credentials. */
      readonly message: string;
      readonly retryable: boolean;
      readonly retryAfterMs?: number;
      /** Tokens of the model's window, where a `prompt_too_long` tells it. */
      readonly windowTokens?: number;
      /** The API took the request itself for wrong: asking again as it is is no use. */
      readonly invalidRequest?: true;
      readonly usage?: ModelUsage;
    };

export interface Model {
  /**
   * How many tokens the prompt of a request is, counted by who runs the model; undefined if that
   * cannot be found out, now or ever. Never rejects. Absent: nobody can be asked.
   */
  count?(request: ModelRequest, signal: AbortSignal): Promise<number | undefined>;

  /**
   * Asks for one response. Never rejects: every failure of the world is an outcome. A stream that is
   * silent for longer than the adapter's limit is cut and is a `connection` failure; an aborted
   * `signal` ends it at once as `aborted`. Does not retry: the loop does, so that the log shows it.
   */
  respond(
    request: ModelRequest,
    observer: ModelObserver,
    signal: AbortSignal,
  ): Promise<ModelOutcome>;
}

/** A model that a server offers: what it tells of it, and what an agent may ask of it. */
export interface OfferedModel {
  readonly info: ModelInfo;
  /** Other ids that stand for it. */
  readonly aliases: readonly string[];
  /** Whether an agent may ask for the speed `fast`. */
  readonly hasFastMode: boolean;
  /** Absent if nobody said what it costs. */
  readonly prices?: ModelPrices;
  /** Absent if nothing is known: then nothing is held back from it. */
  readonly abilities?: ModelAbilities;
}

/**
 * List prices in picodollars (10^-12 US dollars) per token: a dollar per million tokens is 1,000,000.
 * Whole numbers and safe integers, which products and sums of them need not be: reckon with `bigint`.
 */
export interface TokenPrices {
  readonly input: number;
  readonly output: number;
  readonly cache_read: number;
  readonly cache_write_5m: number;
  readonly cache_write_1h: number;
}

export interface ModelPrices extends TokenPrices {
  /** At the speed `fast`; absent if that costs no more. */
  readonly fast?: TokenPrices;
}

/** What can be sent to a model; what it cannot take is left out or put otherwise, and noted. */
export interface ModelAbilities {
  readonly images: boolean;
  readonly pdf: boolean;
  /** More than one tool use in a response. */
  readonly parallelTools: boolean;
  readonly thinking: boolean;
  /** Instructions of the system's in the middle of a conversation. */
  readonly systemMessages: boolean;
  /** The efforts it knows; none if it takes no such parameter. */
  readonly efforts: readonly Effort[];
}
