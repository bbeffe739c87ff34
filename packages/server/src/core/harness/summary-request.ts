import type { ModelBlock, ModelMessage, ModelRequest } from "../ports/model.ts";
import { blocksTokens, jsonTokens, textTokens } from "../session/token-estimate.ts";

const ASK = `Stop here. Everything above is about to be replaced by a summary, because the conversation has become too long to be read in full. You will go on from that summary alone, so write it now, as text, and call no tool.

Keep, in as few words as possible but with exact names, numbers, paths, ids and wording where they matter:
- what the user wants, with every requirement, decision and answer that still counts;
- what was done, what was found out, and what state files and other things are in;
- what was tried and did not work;
- what is left to do, and what comes next.

If the conversation begins with a summary of what came before it, carry over all of its facts that may still matter. Do not address the user, and do not answer anything.`;

/** Characters of a tool's output that stay where not all of it fits. */
const OUTPUT_CHARS_KEPT = 1_000;
/** Left free in a transcript for what stands between its messages, and its size at least. */
const TRANSCRIPT_TOKENS_MIN = 100;
/** Of one message in it. */
const MESSAGE_CHARS_MIN = 100;

/** The same messages with the request to summarise them at the end, in one that fits `tokensMax`. */
export function summaryRequest(request: ModelRequest, tokensMax: number): ModelRequest {
  const fixed = requestTokens({ ...request, messages: [] }) + textTokens(ASK);
  const free = tokensMax - fixed;
  const messages = [() => request.messages, () => request.messages.map(withoutBulk)]
    .map((form) => form())
    .find((form) => messagesTokens(form) <= free);
  return {
    ...request,
    messages: asked(messages ?? transcript(request.messages, free)),
    purpose: "compaction",
  };
}

/** Estimate of a whole prompt. */
export function requestTokens({ system, tools, messages }: ModelRequest): number {
  return blocksTokens(system) + jsonTokens(tools) + messagesTokens(messages);
}

export function messagesTokens(messages: readonly ModelMessage[]): number {
  return messages.reduce((sum, { content }) => sum + blocksTokens(content), 0);
}

function asked(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  const ask: ModelBlock = { type: "text", text: ASK };
  const last = messages.at(-1);
  // What the system said stays last: the API takes nothing but an answer after it.
  if (last?.role === "system") return [...asked(messages.slice(0, -1)), last];
  if (last?.role !== "user") return [...messages, { role: "user", content: [ask] }];
  return [...messages.slice(0, -1), { role: "user", content: [...last.content, ask] }];
}

/** Without images, documents and all but the ends of long outputs. What is signed stays. */
function withoutBulk({ role, content }: ModelMessage): ModelMessage {
  return { role, content: content.map(withoutBulkBlock) };
}

function withoutBulkBlock(block: ModelBlock): ModelBlock {
  if (block.type === "image" || block.type === "document") {
    return { type: "text", text: `(${block.type})` };
  }
  if (block.type !== "tool_result" || !Array.isArray(block["content"])) return block;
  const content: readonly ModelBlock[] = block["content"];
  return { ...block, content: content.map(shortened) };
}

function shortened(block: ModelBlock): ModelBlock {
  if (block.type !== "text") return { type: "text", text: `(${block.type})` };
  return { ...block, text: ends(String(block["text"]), OUTPUT_CHARS_KEPT) };
}

/**
 * The conversation as one text, for one that is too long even so: the first message, which may be the
 * summary so far, then as many of the newest as fit, each shortened to its share.
 */
function transcript(messages: readonly ModelMessage[], tokens: number): readonly ModelMessage[] {
  const budget = Math.max(TRANSCRIPT_TOKENS_MIN, tokens - TRANSCRIPT_TOKENS_MIN);
  const [first, ...rest] = messages;
  const opening = first === undefined ? "" : told(first, budget / 3);
  const lines: string[] = [];
  let left = budget - textTokens(opening);
  for (const message of rest.toReversed()) {
    const line = told(message, budget / 20);
    left -= textTokens(line) + 1;
    if (left < 0) break;
    lines.unshift(line);
  }
  const missing = rest.length - lines.length;
  const gap = missing > 0 ? [`(${missing} messages are left out here)`] : [];
  const text = [opening, ...gap, ...lines].join("\n\n");
  return [{ role: "user", content: [{ type: "text", text }] }];
}

/** A message in at most about so many tokens. */
function told({ role, content }: ModelMessage, tokensMax: number): string {
  const parts = content.map((block) => toldBlock(block)).filter((part) => part !== "");
  const text = parts.join("\n");
  const tokens = textTokens(text);
  const charsMax = Math.max(MESSAGE_CHARS_MIN, Math.floor((text.length * tokensMax) / tokens));
  return `${role}: ${tokens <= tokensMax ? text : ends(text, charsMax)}`;
}

function toldBlock(block: ModelBlock): string {
  switch (block.type) {
    case "text":
      return String(block["text"]);
    case "tool_use":
      return `(called ${String(block["name"])} with ${JSON.stringify(block["input"])})`;
    case "tool_result": {
      const content = Array.isArray(block["content"]) ? (block["content"] as ModelBlock[]) : [];
      return `(result: ${content.map(toldBlock).join("\n")})`;
    }
    case "thinking":
    case "redacted_thinking":
      return "";
    default:
      return `(${block.type})`;
  }
}

/** The beginning and the end of a text, as far as there is room. */
function ends(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const half = Math.floor(charsMax / 2);
  const missing = text.length - 2 * half;
  return `${text.slice(0, half)}\n(${missing} characters are left out here)\n${text.slice(-half)}`.toWellFormed();
}
