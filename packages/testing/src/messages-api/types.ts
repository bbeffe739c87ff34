import type { IncomingHttpHeaders } from "node:http";

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** What the double believes of one model; each rule that depends on the model reads it here. */
export interface ModelSpec {
  readonly id: string;
  readonly display_name: string;
  readonly created_at: string;
  /** Tokens of context. */
  readonly max_input_tokens: number;
  /** The highest `max_tokens` a request may name. */
  readonly max_tokens: number;
  /** `enabled` (with a budget), `adaptive`, or both. */
  readonly thinking: readonly ("enabled" | "adaptive")[];
  readonly efforts: readonly string[];
  /** Whether a conversation may end with an assistant message. */
  readonly prefill: boolean;
  /** Whether `role: "system"` messages may stand inside the conversation. */
  readonly systemMessages: boolean;
  /** Whether `temperature`, `top_p` and `top_k` are accepted. */
  readonly sampling: boolean;
  /** A shorter prefix is not cached. Tokens. */
  readonly cacheTokensMin: number;
}

export interface TextBlock {
  readonly type: "text";
  readonly text: string;
}

export interface ThinkingBlock {
  readonly type: "thinking";
  readonly thinking: string;
  /** Made by the double (and verified when it comes back) unless given. */
  readonly signature?: string;
}

interface RedactedThinkingBlock {
  readonly type: "redacted_thinking";
  /** Made by the double (and verified when it comes back) unless given. */
  readonly data?: string;
}

export interface ToolUseBlock {
  readonly type: "tool_use";
  /** Unique per answer unless given. */
  readonly id?: string;
  readonly name: string;
  readonly input: JsonObject;
  /** Sent as the input's JSON instead of `input`: for a model whose JSON does not parse. */
  readonly inputJson?: string;
}

export type AnswerBlock = TextBlock | ThinkingBlock | RedactedThinkingBlock | ToolUseBlock;

/** Milliseconds and characters; nothing waits unless asked to. */
export interface Pacing {
  /** Before the first event. */
  readonly firstMs?: number;
  /** Before each delta. */
  readonly delayMs?: number;
  /** Characters of a delta; 24 if not given. */
  readonly chunkChars?: number;
}

/**
 * What goes wrong. `afterEvents` counts SSE events already sent, `message_start` being the first.
 * `times`, in a `#script` line only: how often it happens before the step is answered properly.
 */
export type Fault = { readonly times?: number } & (
  | {
      readonly type: "status";
      readonly status: number;
      readonly error_type?: string;
      readonly message?: string;
      /** Response headers, such as `retry-after`. */
      readonly headers?: Readonly<Record<string, string>>;
      /** Sent instead of the API's error body. */
      readonly body?: string;
    }
  /** The socket is closed without an HTTP answer. */
  | { readonly type: "reset" }
  /** No HTTP answer ever; the socket stays open. */
  | { readonly type: "silent" }
  /** The response ends cleanly after some events. */
  | { readonly type: "end"; readonly afterEvents: number }
  /** The socket is destroyed after some events. */
  | { readonly type: "cut"; readonly afterEvents: number }
  /** Nothing more is sent after some events; the socket stays open. */
  | { readonly type: "stall"; readonly afterEvents: number }
  /** Pings and nothing else after some events. */
  | { readonly type: "pings"; readonly afterEvents: number; readonly everyMs: number }
  | {
      readonly type: "error_event";
      readonly afterEvents: number;
      readonly error_type: string;
      readonly message?: string;
    }
  /** An event whose data is not JSON, after some events. */
  | { readonly type: "garbage"; readonly afterEvents: number }
  /** One endless line of bytes after some events, until the client hangs up. */
  | { readonly type: "flood"; readonly afterEvents: number }
);

export interface Answer {
  readonly content?: readonly AnswerBlock[];
  /** `tool_use` if a tool is used, else `end_turn`, unless given. Null: the stream never tells one. */
  readonly stop_reason?: string | null;
  readonly stop_sequence?: string | null;
  readonly stop_details?: JsonObject | null;
  /** Laid over the counted usage; null leaves a count out of the response. */
  readonly usage?: Readonly<Record<string, Json>>;
  readonly pacing?: Pacing;
  readonly fault?: Fault;
}

/** A request that no rule refused. */
export interface MessagesRequest {
  /** From 0, counting accepted requests to `/v1/messages`. */
  readonly n: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: JsonObject;
  /** The text of the last user message, without tool results. */
  readonly lastUserText: string;
}

/** A refused request, and the rule that refused it. */
export interface Refusal {
  readonly rule: string;
  readonly status: number;
  readonly message: string;
  readonly path: string;
  readonly body: Json;
}

/** Answers in order (the last one for ever after), or a function of the request. */
export type Script =
  | readonly Answer[]
  | ((request: MessagesRequest, n: number) => Answer | Promise<Answer>);
