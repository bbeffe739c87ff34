import type { Json, JsonObject } from "../messages-api/types.ts";

/** What the double believes of one model; each rule that depends on the model reads it here. */
export interface ChatModelSpec {
  readonly id: string;
  /** Tokens of context. */
  readonly contextTokens: number;
  /** The highest `max_tokens` a request may name. */
  readonly maxTokens: number;
  readonly images: boolean;
  readonly files: boolean;
  readonly tools: boolean;
  /** Levels of `reasoning_effort`; none if it does not reason. */
  readonly efforts: readonly string[];
}

/** How a server's answers differ from those of the API it imitates. */
export interface Flavour {
  /** The field of a delta that holds thinking; `parts` is a list in `content`. */
  readonly thinking: "reasoning_content" | "reasoning" | "both" | "parts";
  /** A call in pieces as OpenAI's, or whole in one delta, or with its name and id in each piece. */
  readonly calls: "pieces" | "whole" | "repeated" | "object";
  readonly ids: boolean;
  /** What the index of a call is. */
  readonly indexes: "counted" | "none" | "zero";
  /** Sends `content: null` and empty texts where nothing is said. */
  readonly blanks: boolean;
  readonly usage: "asked" | "always" | "never" | "every_chunk";
  readonly finish: "usual" | "always_stop" | "none" | "unknown";
  readonly done: boolean;
  /** A comment that is sent before the first chunk, and instead of pings. */
  readonly comment?: string;
  /** Ignores `stream`. */
  readonly wholeBody: boolean;
  /** An error that has a status is told with status 200, in the stream. */
  readonly lateErrors: boolean;
  /** Parameters it refuses, which others take. */
  readonly refuses: readonly string[];
}

/** What is refused is told as this. */
export interface ChatError {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | number | null;
}

export type Chunk = JsonObject;
export type { Json, JsonObject };
