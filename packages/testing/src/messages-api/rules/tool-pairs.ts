import { DOCS, type Rule } from "./rule.ts";
import {
  type BlockView,
  field,
  firstDouble,
  firstOf,
  listOf,
  type MessageView,
  messagesOf,
} from "./shape.ts";

const TOOL_USE_DOCS = `${DOCS}/agents-and-tools/tool-use/handle-tool-calls`;
const ID_PATTERN = /^[a-zA-Z0-9_-]+$/;
const MAX_NAME_CHARS = 200;

/** Every tool use has exactly one result directly after it, and every result its tool use. */
export const TOOL_PAIR_RULES: readonly Rule[] = [
  {
    id: "tool-use-id-pattern",
    source: "API validation: tool_use.id String should match pattern '^[a-zA-Z0-9_-]+$'",
    description: "A tool use's id is of letters, digits, dashes and underscores.",
    check: ({ body }) =>
      firstOf(messagesOf(body), (message) =>
        firstOf(of(message, "tool_use"), ({ at, block }) =>
          ID_PATTERN.test(String(block["id"]))
            ? undefined
            : `${at}.tool_use.id: String should match pattern '${ID_PATTERN.source}'`,
        ),
      ),
  },
  {
    id: "tool-use-name",
    source: "API validation: tool_use.name String should have at most 200 characters",
    description:
      "The name of a tool use has 1 to 200 characters, also where there is no such tool.",
    check: ({ body }) =>
      firstOf(messagesOf(body), (message) =>
        firstOf(of(message, "tool_use"), ({ at, block }) => {
          const { length } = String(block["name"]);
          if (length === 0) return `${at}.tool_use.name: String should have at least 1 character`;
          return length > MAX_NAME_CHARS
            ? `${at}.tool_use.name: String should have at most ${MAX_NAME_CHARS} characters`
            : undefined;
        }),
      ),
  },
  {
    id: "tool-use-unique",
    source: "https://github.com/anthropics/claude-code/issues?q=%22tool_use+ids+must+be+unique%22",
    description: "No two tool uses of a conversation have one id.",
    check: ({ body }) => {
      const messages = messagesOf(body);
      const double = firstDouble(messages.flatMap((message) => ids(message, "tool_use", "id")));
      if (double === undefined) return undefined;
      const at = messages.findLast((message) =>
        ids(message, "tool_use", "id").includes(double),
      )?.at;
      return `${at}: \`tool_use\` ids must be unique`;
    },
  },
  {
    id: "tool-use-answered",
    source: "https://github.com/anthropics/claude-code/issues/8210",
    description: "The message after a tool use has its result.",
    check: ({ body }) => {
      const messages = messagesOf(body);
      return firstOf(messages, (message) => {
        const answered = resultsAfter(messages, message);
        const missing = ids(message, "tool_use", "id").filter((id) => !answered.includes(id));
        return missing.length === 0
          ? undefined
          : `${message.at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
      });
    },
  },
  {
    id: "tool-result-known",
    source: "https://github.com/veryfront/veryfront-code/issues/2082",
    description: "A result answers a tool use of the message before.",
    check: ({ body }) => {
      const messages = messagesOf(body);
      return firstOf(messages, (message) => {
        const before = messages[message.index - 1];
        const asked = before === undefined ? [] : ids(before, "tool_use", "id");
        return firstOf(of(message, "tool_result"), ({ at, block }) =>
          asked.includes(String(block["tool_use_id"]))
            ? undefined
            : `${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${String(block["tool_use_id"])}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
        );
      });
    },
  },
  {
    id: "tool-result-single",
    source: TOOL_USE_DOCS,
    description: "A tool use has one result, not two.",
    check: ({ body }) =>
      firstOf(messagesOf(body), (message) => {
        const double = firstDouble(ids(message, "tool_result", "tool_use_id"));
        return double === undefined
          ? undefined
          : `${message.at}.content: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${double}`;
      }),
  },
  {
    id: "tool-result-first",
    source: TOOL_USE_DOCS,
    description: "In a message with results they come before everything else.",
    check: ({ body }) =>
      firstOf(messagesOf(body), ({ at, blocks }) => {
        const firstOther = blocks.findIndex(({ type }) => type !== "tool_result");
        const lastResult = blocks.findLastIndex(({ type }) => type === "tool_result");
        return firstOther >= 0 && lastResult > firstOther
          ? `${at}: \`tool_result\` blocks must come first in the content of a message that follows \`tool_use\` blocks`
          : undefined;
      }),
  },
  {
    id: "tools-defined",
    source:
      'API validation: "Requests which include `tool_use` or `tool_result` blocks must define tools."',
    description: "A conversation that has tool uses is sent with tools.",
    check: ({ body }) => {
      const isUsed = messagesOf(body).some(
        (message) => of(message, "tool_use").length + of(message, "tool_result").length > 0,
      );
      return isUsed && listOf(field(body, "tools")).length === 0
        ? "Requests which include `tool_use` or `tool_result` blocks must define tools."
        : undefined;
    },
  },
];

function of({ blocks }: MessageView, type: string): readonly BlockView[] {
  return blocks.filter((view) => view.type === type);
}

function ids(message: MessageView, type: string, name: string): readonly string[] {
  return of(message, type).map(({ block }) => String(block[name]));
}

function resultsAfter(messages: readonly MessageView[], message: MessageView): readonly string[] {
  const next = messages[message.index + 1];
  return next === undefined ? [] : ids(next, "tool_result", "tool_use_id");
}
