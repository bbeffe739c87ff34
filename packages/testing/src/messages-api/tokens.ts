import { blocksOf, field, isObject, listOf, messagesOf } from "./rules/shape.ts";
import type { Json, JsonObject } from "./types.ts";

const CHARS_PER_TOKEN = 4;
const TOKENS_PER_MESSAGE = 4;
const TOKENS_PER_IMAGE = 1_500;

/** One tool, one block of the system prompt or one block of a message: what a prompt is made of. */
export interface PromptPiece {
  readonly level: "tools" | "system" | "messages";
  /** What it starts with if it is the first of a message: the message's role. */
  readonly role: string;
  readonly block: JsonObject;
  readonly chars: number;
  /** Besides those of its characters. */
  readonly tokens: number;
}

/** The pieces of a prompt in the order in which the API reads them: tools, system, messages. */
export function promptPieces(body: JsonObject): readonly PromptPiece[] {
  const tools = listOf(body["tools"]).map((tool): PromptPiece => {
    const block = isObject(tool) ? tool : {};
    return { level: "tools", role: "", block, chars: lengthOf(withoutMark(tool)), tokens: 0 };
  });
  const system = blocksOf(field(body, "system"), "system").map(({ block }): PromptPiece => {
    return { level: "system", role: "", block, ...sizeOf(block) };
  });
  const messages = messagesOf(body).flatMap(({ role, blocks }) => {
    const shown = blocks.length > 0 ? blocks.map(({ block }) => block) : [{}];
    return shown.map((block, index): PromptPiece => {
      const { chars, tokens } = sizeOf(block);
      const isFirst = index === 0;
      return {
        level: "messages",
        role: isFirst ? String(role) : "",
        block,
        chars,
        tokens: tokens + (isFirst ? TOKENS_PER_MESSAGE : 0),
      };
    });
  });
  return [...tools, ...system, ...messages];
}

/** How many tokens the prompt has at the end of each of its pieces. */
export function tokensAtEnds(pieces: readonly PromptPiece[]): readonly number[] {
  let chars = 0;
  let tokens = 0;
  return pieces.map((piece) => {
    chars += piece.chars;
    tokens += piece.tokens;
    return tokens + Math.ceil(chars / CHARS_PER_TOKEN);
  });
}

/**
 * About how many tokens a prompt is: four characters each, images at a flat rate. At least 1. Marks
 * for the cache cost nothing.
 */
export function estimateTokens(body: JsonObject): number {
  return Math.max(1, tokensAtEnds(promptPieces(body)).at(-1) ?? 1);
}

/** Tokens of a piece of output. */
export function tokensOf(text: string): number {
  return Math.max(1, Math.ceil(text.length / CHARS_PER_TOKEN));
}

/** The same without its mark for the cache. */
export function withoutMark(value: Json): Json {
  if (!isObject(value) || value["cache_control"] === undefined) return value;
  const { cache_control: _mark, ...rest } = value;
  return rest;
}

function sizeOf(block: JsonObject): { chars: number; tokens: number } {
  if (block["type"] === "image") return { chars: 0, tokens: TOKENS_PER_IMAGE };
  if (block["type"] === "tool_result") {
    const inner = blocksOf(block["content"], "").map((view) => sizeOf(view.block));
    return {
      chars: inner.reduce((sum, { chars }) => sum + chars, 0),
      tokens: inner.reduce((sum, { tokens }) => sum + tokens, TOKENS_PER_MESSAGE),
    };
  }
  const text = block["text"] ?? block["thinking"];
  if (typeof text === "string") return { chars: text.length, tokens: 0 };
  return { chars: Object.keys(block).length === 0 ? 0 : lengthOf(withoutMark(block)), tokens: 0 };
}

function lengthOf(value: Json): number {
  return JSON.stringify(value).length;
}
