import type { ModelSpec } from "./types.ts";

const CREATED_AT = "2026-01-01T00:00:00Z";
const ALL_EFFORTS = ["low", "medium", "high", "xhigh", "max"];

/**
 * Three models that differ where the real ones do: a current one (adaptive thinking only, no prefill,
 * no sampling parameters), one of the generation between, and an old one (budgeted thinking, no effort).
 */
export const MODELS: readonly ModelSpec[] = [
  {
    id: "claude-opus-5-5",
    display_name: "Double of a current model",
    created_at: CREATED_AT,
    max_input_tokens: 1_000_000,
    max_tokens: 128_000,
    thinking: ["adaptive"],
    efforts: ALL_EFFORTS,
    prefill: false,
    systemMessages: true,
    sampling: false,
    cacheTokensMin: 512,
  },
  {
    id: "claude-sonnet-4-6",
    display_name: "Double of a model with both kinds of thinking",
    created_at: CREATED_AT,
    max_input_tokens: 200_000,
    max_tokens: 64_000,
    thinking: ["enabled", "adaptive"],
    efforts: ["low", "medium", "high", "max"],
    prefill: false,
    systemMessages: false,
    sampling: true,
    cacheTokensMin: 1_024,
  },
  {
    id: "claude-haiku-4-5",
    display_name: "Double of a model without effort",
    created_at: CREATED_AT,
    max_input_tokens: 200_000,
    max_tokens: 64_000,
    thinking: ["enabled"],
    efforts: [],
    prefill: true,
    systemMessages: false,
    sampling: true,
    cacheTokensMin: 4_096,
  },
];
