import type { ModelBlock, ModelMessage, ModelRequest } from "../ports/model.ts";

/** Kept for five minutes from its last use, which every next request of a turn is. */
const MARK = { type: "ephemeral" } as const;
/** Blocks that take no mark. */
const UNMARKABLE: ReadonlySet<string> = new Set(["thinking", "redacted_thinking"]);
/** User messages that are marked, counted from the end. */
const MESSAGES_MARKED = 2;

/**
 * The same request with its four marks for the prompt cache: the end of the tools, the end of the
 * system prompt, and the ends of the last two user messages. What is written at the last one now is
 * found at the last but one by the next request, however many blocks a response adds in between (an
 * API looks only a few back from a mark). A mark is no part of what is cached, so the prefix stays the
 * same byte for byte while the marks move.
 */
export function withCacheMarks(request: ModelRequest): ModelRequest {
  const users = request.messages.flatMap(({ role }, index) => (role === "user" ? [index] : []));
  const marked = new Set(users.slice(-MESSAGES_MARKED));
  return {
    ...request,
    tools: withLastMarked(request.tools, () => true),
    system: withLastMarked(request.system, isMarkable),
    messages: request.messages.map((message, index) =>
      marked.has(index) ? markedMessage(message) : message,
    ),
  };
}

function markedMessage({ role, content }: ModelMessage): ModelMessage {
  return { role, content: withLastMarked(content, isMarkable) };
}

function withLastMarked<T extends object>(
  items: readonly T[],
  canMark: (item: T) => boolean,
): readonly T[] {
  const last = items.at(-1);
  if (last === undefined || !canMark(last)) return items;
  return [...items.slice(0, -1), { ...last, cache_control: MARK }];
}

function isMarkable({ type }: ModelBlock): boolean {
  return !UNMARKABLE.has(type);
}
