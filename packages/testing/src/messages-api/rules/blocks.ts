import type { Json } from "../types.ts";
import { DOCS, type Rule, SDK } from "./rule.ts";
import {
  type BlockView,
  blocksOf,
  firstOf,
  isList,
  isObject,
  listOf,
  messagesOf,
  oneOf,
} from "./shape.ts";

type FieldType = "string" | "object" | "list" | "boolean" | "content";

interface BlockShape {
  readonly roles: readonly string[];
  readonly required: Readonly<Record<string, FieldType>>;
  readonly optional: Readonly<Record<string, FieldType>>;
}

const CACHE = { cache_control: "object" } as const;
const USER = ["user"];
const ASSISTANT = ["assistant"];
const BOTH = ["user", "assistant", "system"];

/** The client-side blocks, field by field. A thinking block has no place for cache_control. */
const SHAPES: Readonly<Record<string, BlockShape>> = {
  text: { roles: BOTH, required: { text: "string" }, optional: { ...CACHE, citations: "list" } },
  image: {
    roles: USER,
    required: { source: "object" },
    optional: { ...CACHE, transformations: "object" },
  },
  document: {
    roles: USER,
    required: { source: "object" },
    optional: { ...CACHE, citations: "object", context: "string", title: "string" },
  },
  search_result: {
    roles: USER,
    required: { content: "list", source: "string", title: "string" },
    optional: { ...CACHE, citations: "object" },
  },
  thinking: {
    roles: ASSISTANT,
    required: { thinking: "string", signature: "string" },
    optional: {},
  },
  redacted_thinking: { roles: ASSISTANT, required: { data: "string" }, optional: {} },
  tool_use: {
    roles: ASSISTANT,
    required: { id: "string", name: "string", input: "object" },
    optional: { ...CACHE, caller: "object", toolset_name: "string" },
  },
  tool_result: {
    roles: USER,
    required: { tool_use_id: "string" },
    optional: { ...CACHE, content: "content", is_error: "boolean", toolset_name: "string" },
  },
};

/** Blocks of server tools: known by name, their shape is not looked at. */
const SERVER_BLOCKS = [
  "server_tool_use",
  "web_search_tool_result",
  "web_fetch_tool_result",
  "code_execution_tool_result",
  "bash_code_execution_tool_result",
  "text_editor_code_execution_tool_result",
  "tool_search_tool_result",
  "container_upload",
];
const IN_TOOL_RESULT = ["text", "image", "search_result", "document", "tool_reference"];

/** Content blocks, each by itself. */
export const BLOCK_RULES: readonly Rule[] = [
  {
    id: "block-type",
    source: `${SDK} ContentBlockParam`,
    description: "A block has a type the API knows.",
    check: ({ body }) =>
      firstOf(blocks(body), ({ type, at }) => {
        const known = [...Object.keys(SHAPES), ...SERVER_BLOCKS];
        return known.includes(type)
          ? undefined
          : `${at}: Input tag '${type}' found using 'type' does not match any of the expected tags: ${oneOf(known)}`;
      }),
  },
  {
    id: "block-field-required",
    source: `${SDK} ContentBlockParam`,
    description: "A block has the fields of its type.",
    check: ({ body }) => firstOf(blocks(body), checkRequired),
  },
  {
    id: "block-field-type",
    source: `${SDK} ContentBlockParam`,
    description: "A block's fields are of their types.",
    check: ({ body }) => firstOf(blocks(body), checkTypes),
  },
  {
    id: "block-field-unknown",
    source: `${SDK} ContentBlockParam`,
    description: "A block has no field that its type does not know.",
    check: ({ body }) => firstOf(blocks(body), checkUnknown),
  },
  {
    id: "block-role",
    source: `${SDK} ContentBlockParam`,
    description: "Tool uses and thinking are the assistant's; results and media the user's.",
    check: ({ body }) =>
      firstOf(messagesOf(body), ({ role, blocks: own }) =>
        firstOf(own, ({ type, at }) => {
          const roles = SHAPES[type]?.roles;
          return roles === undefined || roles.includes(String(role))
            ? undefined
            : `${at}: \`${type}\` blocks can only be in \`${roles.join("`, `")}\` messages`;
        }),
      ),
  },
  {
    id: "citations-user",
    source: `${DOCS}/api/migration-2026-10-21`,
    description: "Since API version 2026-10-21 a user's text has no citations.",
    check: ({ body, headers }) =>
      firstOf(messagesOf(body), ({ role, blocks: own }) =>
        firstOf(own, ({ at, block }) =>
          role === "user" &&
          headers["anthropic-version"] === "2026-10-21" &&
          listOf(block["citations"]).length > 0
            ? `${at}.text.citations: citations are not permitted in user messages`
            : undefined,
        ),
      ),
  },
  {
    id: "tool-result-content",
    source: `${SDK} ToolResultBlockParam.content`,
    description: "A tool result holds text, images, documents, search results and references only.",
    check: ({ body }) =>
      firstOf(results(body), ({ at, block }) =>
        firstOf(inside(block["content"], at), (view) =>
          IN_TOOL_RESULT.includes(view.type)
            ? undefined
            : `${view.at}: Input tag '${view.type}' found using 'type' does not match any of the expected tags: ${oneOf(IN_TOOL_RESULT)}`,
        ),
      ),
  },
  {
    id: "tool-result-content-shape",
    source: `${SDK} ToolResultBlockParam.content`,
    description: "A block inside a tool result has the fields of its type and no other.",
    check: ({ body }) =>
      firstOf(results(body), ({ at, block }) =>
        firstOf(
          inside(block["content"], at),
          (view) => checkRequired(view) ?? checkTypes(view) ?? checkUnknown(view),
        ),
      ),
  },
  {
    id: "tool-result-error-text",
    source: "https://github.com/caozhiyuan/copilot-api/pull/196",
    description: "A tool result that is an error holds nothing but text.",
    check: ({ body }) =>
      firstOf(results(body), ({ at, block }) =>
        block["is_error"] === true &&
        inside(block["content"], at).some(({ type }) => type !== "text")
          ? `${at}.tool_result: all content must be type \`text\` if \`is_error\` is true`
          : undefined,
      ),
  },
  {
    id: "tool-result-error-empty",
    source: "API validation: tool_result: content cannot be empty if `is_error` is true",
    description: "A tool result that is an error says something.",
    check: ({ body }) =>
      firstOf(results(body), ({ at, block }) => {
        const content = block["content"];
        const isEmpty = typeof content === "string" ? content === "" : listOf(content).length === 0;
        return block["is_error"] === true && isEmpty
          ? `${at}.tool_result: content cannot be empty if \`is_error\` is true`
          : undefined;
      }),
  },
];

function blocks(body: Json | undefined): readonly BlockView[] {
  return messagesOf(body).flatMap((message) => message.blocks);
}

function results(body: Json | undefined): readonly BlockView[] {
  return blocks(body).filter(({ type }) => type === "tool_result");
}

function inside(content: Json | undefined, at: string): readonly BlockView[] {
  return isList(content) ? blocksOf(content, `${at}.tool_result.content`) : [];
}

function checkRequired({ type, at, block }: BlockView): string | undefined {
  const missing = Object.keys(SHAPES[type]?.required ?? {}).find((name) => block[name] == null);
  return missing === undefined ? undefined : `${at}.${type}.${missing}: Field required`;
}

function checkTypes({ type, at, block }: BlockView): string | undefined {
  const shape = SHAPES[type];
  if (shape === undefined) return undefined;
  return firstOf(Object.entries({ ...shape.required, ...shape.optional }), ([name, wanted]) => {
    const value = block[name];
    if (value == null || matches(value, wanted)) return undefined;
    return `${at}.${type}.${name}: Input should be a valid ${wanted === "object" ? "dictionary" : wanted}`;
  });
}

function checkUnknown({ type, at, block }: BlockView): string | undefined {
  const shape = SHAPES[type];
  if (shape === undefined) return undefined;
  const unknown = Object.keys(block).find(
    (name) => name !== "type" && !(name in shape.required) && !(name in shape.optional),
  );
  return unknown === undefined
    ? undefined
    : `${at}.${type}.${unknown}: Extra inputs are not permitted`;
}

function matches(value: Json, wanted: FieldType): boolean {
  if (wanted === "object") return isObject(value);
  if (wanted === "list") return isList(value);
  if (wanted === "content") return typeof value === "string" || isList(value);
  return typeof value === wanted;
}
