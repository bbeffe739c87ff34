import type { Flavour } from "./types.ts";

const OPENAI: Flavour = {
  thinking: "reasoning_content",
  calls: "pieces",
  ids: true,
  indexes: "counted",
  blanks: false,
  usage: "asked",
  finish: "usual",
  done: true,
  wholeBody: false,
  lateErrors: false,
  refuses: [],
};

/**
 * Answers in the manner of servers that speak the API, as far as they were reported to differ. They
 * imitate what was seen of some version; no such server was asked.
 */
export const FLAVOURS = {
  openai: OPENAI,
  /** No index: github.com/ollama/ollama/issues/7881. No id: github.com/continuedev/continue/issues/13225. */
  ollama: { ...OPENAI, thinking: "reasoning", calls: "whole", blanks: true, indexes: "none" },
  /** Every call has the index 0: github.com/ollama/ollama/issues/15457. */
  ollama_zero: { ...OPENAI, thinking: "reasoning", calls: "whole", blanks: true, indexes: "zero" },
  /** No id in streams: github.com/vllm-project/vllm/issues/18412. */
  vllm: { ...OPENAI, ids: false, blanks: true, usage: "every_chunk" },
  /** Arguments in pieces, no id, an empty text before calls, usage without being asked. */
  llama_cpp: { ...OPENAI, ids: false, blanks: true, usage: "always", refuses: ["stream_options"] },
  /** Name and id with every piece: github.com/openai/codex/issues/7517. */
  lm_studio: { ...OPENAI, calls: "repeated", finish: "always_stop" },
  /** Comments, and errors within a stream of status 200: openrouter.ai/docs/api-reference/streaming. */
  openrouter: {
    ...OPENAI,
    thinking: "reasoning",
    usage: "always",
    comment: "OPENROUTER PROCESSING",
    lateErrors: true,
  },
  /** As little as can be told. */
  bare: {
    ...OPENAI,
    thinking: "both",
    calls: "object",
    ids: false,
    indexes: "none",
    blanks: true,
    usage: "never",
    finish: "none",
    refuses: ["stream_options", "parallel_tool_calls", "max_tokens"],
  },
  /** Never says `[DONE]`, and ends for a reason of its own. */
  abrupt: { ...OPENAI, thinking: "parts", finish: "unknown", done: false },
  /** Does not stream. */
  whole: { ...OPENAI, wholeBody: true, usage: "always" },
} as const satisfies Record<string, Flavour>;

export type FlavourName = keyof typeof FLAVOURS;
