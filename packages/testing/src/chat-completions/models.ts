import type { ChatModelSpec } from "./types.ts";

/** One that can do everything, and a small one of text that has room for little. */
export const CHAT_MODELS: readonly ChatModelSpec[] = [
  {
    id: "large",
    contextTokens: 400_000,
    maxTokens: 64_000,
    images: true,
    files: true,
    tools: true,
    efforts: ["low", "medium", "high"],
  },
  {
    id: "small:8b",
    contextTokens: 32_768,
    maxTokens: 4_096,
    images: false,
    files: false,
    tools: true,
    efforts: [],
  },
];
