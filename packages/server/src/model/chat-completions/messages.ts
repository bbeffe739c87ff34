import type { ModelBlock, ModelMessage } from "../../core/ports/model.ts";
import { isRecord } from "../../lib/is-record.ts";
import { contentPart, type Part, textOf } from "./content.ts";
import { sentName } from "./tool-names.ts";

/** A message of a chat completion, as JSON. */
export type ChatMessage = { readonly role: string; readonly [key: string]: unknown };

export interface MessageOptions {
  /** The field in which a model's own thinking is sent back; undefined if it is not. */
  readonly reasoningField: string | undefined;
}

/**
 * A conversation as chat completions take it. Results are messages of their own, one for each call
 * and directly after it in the order of the calls; what stands beside them follows as the user's.
 */
export function chatMessages(
  system: readonly ModelBlock[],
  messages: readonly ModelMessage[],
  options: MessageOptions,
): readonly ChatMessage[] {
  const instructions = joined(system);
  return [
    ...(instructions === "" ? [] : [{ role: "system", content: instructions }]),
    ...messages.flatMap((message) => chatMessage(message, options)),
  ];
}

function chatMessage({ role, content }: ModelMessage, options: MessageOptions): ChatMessage[] {
  if (role === "assistant") return [assistantMessage(content, options)];
  // Other roles than these two, such as instructions in the middle, are text and keep their name.
  if (role !== "user") return [{ role, content: joined(content) }];
  const results = content.filter(({ type }) => type === "tool_result");
  const rest = content.filter(({ type }) => type !== "tool_result");
  const parts = [...results.flatMap(mediaOf), ...rest.map(contentPart)];
  return [
    ...results.map(toolMessage),
    ...(parts.length === 0 ? [] : [{ role: "user", content: merged(parts) }]),
  ];
}

function assistantMessage(
  content: readonly ModelBlock[],
  { reasoningField }: MessageOptions,
): ChatMessage {
  const calls = content.filter(({ type }) => type === "tool_use").map(toolCall);
  const thinking = content.filter(({ type }) => type === "thinking");
  const reasoning = thinking.map((block) => string(block["thinking"])).join("\n\n");
  return {
    role: "assistant",
    // Empty rather than null, which templates fail to add to text.
    content: joined(content.filter(({ type }) => type === "text")),
    ...(reasoningField !== undefined && reasoning !== "" && { [reasoningField]: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

function toolCall(block: ModelBlock) {
  const name = sentName(string(block["name"]));
  const input = JSON.stringify(isRecord(block["input"]) ? block["input"] : {});
  return { id: string(block["id"]), type: "function", function: { name, arguments: input } };
}

function toolMessage(block: ModelBlock): ChatMessage {
  const texts = blocksOf(block["content"]).map(textOf);
  const text = texts.filter((it) => it !== "").join("\n\n") || "(no output)";
  return {
    role: "tool",
    tool_call_id: string(block["tool_use_id"]),
    // There is no field for it.
    content: block["is_error"] === true ? `Error: ${text}` : text,
  };
}

/** The images of a result, which only a user's message can hold. */
function mediaOf(block: ModelBlock): readonly Part[] {
  const parts = blocksOf(block["content"]).map(contentPart);
  const media = parts.filter(({ type }) => type !== "text");
  if (media.length === 0) return [];
  const text = `From the result of the tool call ${string(block["tool_use_id"])}:`;
  return [{ type: "text", text }, ...media];
}

/** A string where that is enough: many servers take nothing else from a model without images. */
function merged(parts: readonly Part[]): string | readonly Part[] {
  if (!parts.every(({ type }) => type === "text")) return parts;
  return parts.map(({ text }) => string(text)).join("\n\n");
}

function joined(blocks: readonly ModelBlock[]): string {
  return blocks
    .map(textOf)
    .filter((text) => text !== "")
    .join("\n\n");
}

function blocksOf(content: unknown): readonly ModelBlock[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (!Array.isArray(content)) return [];
  return content.filter((block): block is ModelBlock => {
    return isRecord(block) && typeof block["type"] === "string";
  });
}

function string(value: unknown): string {
  return typeof value === "string" ? value : "";
}
