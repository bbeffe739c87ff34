import type { Json } from "../types.ts";
import { DOCS, type Rule, type RuleInput, SDK } from "./rule.ts";
import {
  type BlockView,
  blocksOf,
  field,
  firstOf,
  isList,
  isObject,
  listOf,
  type MessageView,
  messagesOf,
} from "./shape.ts";

const WHITESPACE_REPORT = "https://github.com/LibreChat-AI/agents/pull/124";

/** The conversation as a whole: shape, roles, order, text. */
export const MESSAGE_RULES: readonly Rule[] = [
  {
    id: "message-shape",
    source: `${SDK} MessageParam`,
    description: "A message is an object of role and content and nothing else.",
    check: ({ body }) =>
      firstOf(
        listOf(field(body, "messages")).map((message, index) => ({ message, index })),
        ({ message, index }) => checkMessage(message, `messages.${index}`),
      ),
  },
  {
    id: "message-role",
    source: `${SDK} MessageParam`,
    description: "A role is user, assistant or system.",
    check: ({ body }) =>
      firstOf(messagesOf(body), ({ role, at }) =>
        role === "user" || role === "assistant" || role === "system"
          ? undefined
          : `${at}.role: Input should be 'user', 'assistant' or 'system'`,
      ),
  },
  {
    id: "first-user",
    source: "https://www.github.com/jtsang4/claude-to-chatgpt/issues/30",
    description: "The first message is the user's; consecutive messages of one role are one turn.",
    check: ({ body }) =>
      messagesOf(body)[0]?.role === "user"
        ? undefined
        : 'messages: first message must use the "user" role',
  },
  {
    id: "system-message-model",
    source: `${DOCS}/build-with-claude/mid-conversation-system-messages`,
    description: "Only some models take system messages inside the conversation.",
    check: ({ body, model }) =>
      model?.systemMessages === false && messagesOf(body).some(({ role }) => role === "system")
        ? 'messages: role "system" is not supported on this model'
        : undefined,
  },
  {
    id: "system-message-place",
    source: `${DOCS}/build-with-claude/mid-conversation-system-messages`,
    description: "A system message follows a user message and ends the list or precedes an answer.",
    check: ({ body }) => checkSystemPlaces(messagesOf(body)),
  },
  {
    id: "content-empty",
    source: `${DOCS}/api/messages/create`,
    description: "Only a final assistant message may have no content.",
    check: ({ body }) => {
      const messages = messagesOf(body);
      return firstOf(messages, ({ content, role, at, index }) => {
        const empty = content === "" || (isList(content) && content.length === 0);
        const optional = role === "assistant" && index === messages.length - 1;
        return empty && !optional
          ? `${at}: all messages must have non-empty content except for the optional final assistant message`
          : undefined;
      });
    },
  },
  {
    id: "text-empty",
    source: WHITESPACE_REPORT,
    description: "No text block of a message or of a tool result is empty.",
    check: ({ body }) =>
      texts(body).some(({ block }) => block["text"] === "")
        ? "messages: text content blocks must be non-empty"
        : undefined,
  },
  {
    id: "text-whitespace",
    source: WHITESPACE_REPORT,
    description: "A message that is nothing but text has some that is not whitespace.",
    check: ({ body }) =>
      messagesOf(body).some(({ blocks }) => blocks.length > 0 && blocks.every(isBlankText))
        ? "messages: text content blocks must contain non-whitespace text"
        : undefined,
  },
  {
    id: "prefill-unsupported",
    source: `${DOCS}/api/errors#prefill-not-supported`,
    description: "On current models a conversation does not end with an assistant message.",
    check: ({ body, model }) =>
      model?.prefill === false && messagesOf(body).at(-1)?.role === "assistant"
        ? "This model does not support assistant message prefill. The conversation must end with a user message."
        : undefined,
  },
  {
    id: "prefill-whitespace",
    source: "https://github.com/tailcallhq/forgecode/issues/1872",
    description: "A final assistant message does not end with whitespace.",
    check: ({ body }) => {
      const last = messagesOf(body).at(-1);
      const text = last?.role === "assistant" ? last.blocks.at(-1)?.block["text"] : undefined;
      return typeof text === "string" && text !== text.trimEnd()
        ? "messages: final assistant content cannot end with trailing whitespace"
        : undefined;
    },
  },
  {
    id: "system-shape",
    source: `${SDK} MessageCreateParamsBase.system`,
    description: "system is a string or a list of text blocks.",
    check: checkSystem,
  },
  {
    id: "system-empty",
    source: "https://github.com/BoltAI/BoltAI/issues/165",
    description: "A text block of the system prompt is not blank.",
    check: ({ body }) => {
      const system = field(body, "system");
      return isList(system) && blocksOf(system, "system").some(isBlankText)
        ? "system: text content blocks must contain non-whitespace text"
        : undefined;
    },
  },
];

function checkMessage(message: Json, at: string): string | undefined {
  if (!isObject(message)) return `${at}: Input should be a valid dictionary`;
  for (const name of ["role", "content"]) {
    if (message[name] === undefined) return `${at}.${name}: Field required`;
  }
  const unknown = Object.keys(message).find((name) => name !== "role" && name !== "content");
  if (unknown !== undefined) return `${at}.${unknown}: Extra inputs are not permitted`;
  const content = message["content"];
  if (typeof content === "string") return undefined;
  if (!isList(content)) return `${at}.content: Input should be a valid list`;
  const bad = content.findIndex((block) => !isObject(block));
  return bad < 0 ? undefined : `${at}.content.${bad}: Input should be an object`;
}

function checkSystemPlaces(messages: readonly MessageView[]): string | undefined {
  return firstOf(messages, ({ role, at, index }) => {
    if (role !== "system") return undefined;
    if (messages[index - 1]?.role !== "user") {
      return `${at}: role "system" must immediately follow a user message`;
    }
    const next = messages[index + 1];
    return next === undefined || next.role === "assistant"
      ? undefined
      : `${at}: role "system" must be the last message or be followed by an assistant message`;
  });
}

function checkSystem({ body }: RuleInput): string | undefined {
  const system = field(body, "system");
  if (system === undefined || typeof system === "string") return undefined;
  if (!isList(system)) return "system: Input should be a valid list";
  const bad = system.findIndex(
    (block) => field(block, "type") !== "text" || typeof field(block, "text") !== "string",
  );
  return bad < 0 ? undefined : `system.${bad}: Input should be a text block`;
}

function texts(body: Json | undefined): readonly BlockView[] {
  return messagesOf(body)
    .filter(({ content }) => typeof content !== "string")
    .flatMap(({ blocks }) =>
      blocks.flatMap((view) =>
        isList(view.block["content"])
          ? [view, ...blocksOf(view.block["content"], `${view.at}.content`)]
          : [view],
      ),
    )
    .filter(({ type }) => type === "text");
}

/** White space to the API, which is written in Python, and not to JavaScript. */
const SEPARATORS = ["\u001c", "\u001d", "\u001e", "\u001f", "\u0085"];

function isBlankText({ type, block }: BlockView): boolean {
  const text = block["text"];
  if (type !== "text" || typeof text !== "string") return false;
  return SEPARATORS.reduce((rest, separator) => rest.replaceAll(separator, ""), text).trim() === "";
}
