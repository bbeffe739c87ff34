import type { Json, JsonObject } from "../types.ts";

/** A content block and where it stands, in the API's own notation (`messages.0.content.1`). */
export interface BlockView {
  readonly at: string;
  readonly type: string;
  readonly block: JsonObject;
}

export interface MessageView {
  readonly index: number;
  readonly at: string;
  readonly role: Json | undefined;
  readonly content: Json | undefined;
  readonly blocks: readonly BlockView[];
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

export function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}

export function listOf(value: Json | undefined): readonly Json[] {
  return isList(value) ? value : [];
}

export function field(value: Json | undefined, name: string): Json | undefined {
  return isObject(value) ? value[name] : undefined;
}

/** The messages that are objects, with a string content read as one text block. */
export function messagesOf(body: Json | undefined): readonly MessageView[] {
  return listOf(field(body, "messages")).flatMap((message, index) => {
    if (!isObject(message)) return [];
    const at = `messages.${index}`;
    const content = message["content"];
    return [
      { index, at, role: message["role"], content, blocks: blocksOf(content, `${at}.content`) },
    ];
  });
}

/** The blocks of a content that are objects. */
export function blocksOf(content: Json | undefined, at: string): readonly BlockView[] {
  if (typeof content === "string") {
    return [{ at: `${at}.0`, type: "text", block: { type: "text", text: content } }];
  }
  return listOf(content).flatMap((block, index) =>
    isObject(block) ? [{ at: `${at}.${index}`, type: String(block["type"]), block }] : [],
  );
}

/** The blocks of the system prompt, of all messages and of their tool results, in prompt order. */
export function allBlocks(body: Json | undefined): readonly BlockView[] {
  const inMessages = messagesOf(body).flatMap((message) =>
    message.blocks.flatMap((view) => [
      view,
      ...(view.type === "tool_result"
        ? blocksOf(view.block["content"], `${view.at}.tool_result.content`)
        : []),
    ]),
  );
  return [...blocksOf(field(body, "system"), "system"), ...inMessages];
}

export function firstOf<T>(
  items: readonly T[],
  check: (item: T) => string | undefined,
): string | undefined {
  for (const item of items) {
    const message = check(item);
    if (message !== undefined) return message;
  }
  return undefined;
}

export function firstDouble(names: readonly string[]): string | undefined {
  const seen = new Set<string>();
  return names.find((name) => seen.size === seen.add(name).size);
}

export function oneOf(allowed: readonly string[]): string {
  const quoted = allowed.map((value) => `'${value}'`);
  return quoted.length < 2
    ? quoted.join("")
    : `${quoted.slice(0, -1).join(", ")} or ${quoted.at(-1)}`;
}
