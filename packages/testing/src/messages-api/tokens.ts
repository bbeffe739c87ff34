import { allBlocks, field, listOf } from "./rules/shape.ts";
import type { JsonObject } from "./types.ts";

const CHARS_PER_TOKEN = 4;
const TOKENS_PER_MESSAGE = 4;
const TOKENS_PER_IMAGE = 1_500;

/** About how many tokens a prompt is: four characters each, images at a flat rate. At least 1. */
export function estimateTokens(body: JsonObject): number {
  let chars = 0;
  let tokens = 0;
  for (const { type, block } of allBlocks(body)) {
    if (type === "image") tokens += TOKENS_PER_IMAGE;
    else if (type === "tool_result") tokens += TOKENS_PER_MESSAGE;
    else chars += charsOf(block);
  }
  for (const tool of listOf(body["tools"])) chars += JSON.stringify(tool).length;
  tokens += listOf(field(body, "messages")).length * TOKENS_PER_MESSAGE;
  return Math.max(1, tokens + Math.ceil(chars / CHARS_PER_TOKEN));
}

/** Tokens of a piece of output. */
export function tokensOf(text: string): number {
  return Math.max(1, Math.ceil(text.length / CHARS_PER_TOKEN));
}

function charsOf(block: JsonObject): number {
  const text = block["text"] ?? block["thinking"];
  return typeof text === "string" ? text.length : JSON.stringify(block).length;
}
