import { field, firstOf, isList, isObject, listOf } from "../../messages-api/rules/shape.ts";
import type { Json, JsonObject } from "../types.ts";
import { type ChatRule, type ChatRuleInput, REFERENCE, SDK } from "./rule.ts";

const ROLES = ["system", "developer", "user", "assistant", "tool"];
const PART_TYPES: Readonly<Record<string, readonly string[]>> = {
  system: ["text"],
  developer: ["text"],
  user: ["text", "image_url", "file"],
  assistant: ["text", "refusal"],
  tool: ["text"],
};
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

export interface ChatMessageView {
  readonly at: string;
  readonly role: string;
  readonly message: JsonObject;
}

/** What a message may be, and what may stand in it. */
export const MESSAGE_RULES: readonly ChatRule[] = [
  ofMessages({
    id: "message-role",
    source: `${SDK} ChatCompletionMessageParam`,
    description: "Every message has a role that there is.",
    check: ({ at, role }) =>
      ROLES.includes(role) ? undefined : `Invalid value: '${role}' for '${at}.role'.`,
  }),
  ofMessages({
    id: "message-content",
    source: `${SDK} ChatCompletionMessageParam`,
    description:
      "Content is text or a list of parts that is not empty; only a calling assistant has none.",
    check: ({ at, role, message }) => {
      const { content } = message;
      if (typeof content === "string" || (isList(content) && content.length > 0)) return undefined;
      const isCalling = role === "assistant" && listOf(message["tool_calls"]).length > 0;
      if (isCalling && (content === undefined || content === null)) return undefined;
      return `Invalid value for '${at}.content': expected a string, got ${JSON.stringify(content ?? null)}.`;
    },
  }),
  ofMessages({
    id: "part-type",
    source: `${SDK} ChatCompletionContentPart`,
    description: "Every part is of a type that its role may have: images are for users alone.",
    check: ({ at, role, message }) =>
      firstOf(partsOf(message), (part) => {
        const type = String(field(part, "type"));
        return PART_TYPES[role]?.includes(type)
          ? undefined
          : `Invalid value: '${type}' in '${at}.content'. Supported values are: ${PART_TYPES[role]?.join(", ")}.`;
      }),
  }),
  ofMessages({
    id: "image-url",
    source: `${SDK} ChatCompletionContentPartImage`,
    description: "An image is an https address or data of an image.",
    check: ({ at, message }) =>
      firstOf(partsOf(message), (part) => {
        if (field(part, "type") !== "image_url") return undefined;
        const url = field(field(part, "image_url"), "url");
        const isUsable =
          typeof url === "string" &&
          /^(https?:\/\/.|data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$)/.test(url);
        return isUsable ? undefined : `Invalid 'image_url' in '${at}': expected a valid URL.`;
      }),
  }),
  {
    id: "image-unsupported",
    source: "https://github.com/ggml-org/llama.cpp/issues/13566",
    description: "A model that sees no images is sent none.",
    check: ({ body, model }) =>
      model?.images === false && hasPart(body, "image_url")
        ? "image input is not supported by this server"
        : undefined,
  },
  {
    id: "file-unsupported",
    source: `${SDK} ChatCompletionContentPart.File`,
    description: "A model that reads no files is sent none.",
    check: ({ body, model }) =>
      model?.files === false && hasPart(body, "file") ? "file input is not supported" : undefined,
  },
  ofMessages({
    id: "call-shape",
    source: `${SDK} ChatCompletionMessageFunctionToolCall`,
    description: "A call has an id, the type function, a name and arguments that are a string.",
    check: ({ at, message }) =>
      firstOf(listOf(message["tool_calls"]), (call) => {
        const given = field(call, "function");
        const id = field(call, "id");
        if (typeof id !== "string" || id === "") return `Missing required parameter: '${at}.id'.`;
        if (field(call, "type") !== "function") return `Invalid value for '${at}.type'.`;
        return typeof field(given, "arguments") === "string"
          ? undefined
          : `Invalid type for '${at}.tool_calls[0].function.arguments': expected a string.`;
      }),
  }),
  ofMessages({
    id: "call-name",
    source: `${REFERENCE}#chat_create-tools`,
    description: "The name of a call is one that a tool may have.",
    check: ({ at, message }) =>
      firstOf(listOf(message["tool_calls"]), (call) => badName(field(call, "function"), at)),
  }),
  ofMessages({
    id: "call-arguments",
    source: "https://github.com/vllm-project/vllm/issues/43995",
    description: "Arguments are the JSON of an object: templates of models take them apart.",
    check: ({ at, message }) =>
      firstOf(listOf(message["tool_calls"]), (call) =>
        isJsonObject(field(field(call, "function"), "arguments"))
          ? undefined
          : `'${at}': the arguments of a call are not the JSON of an object.`,
      ),
  }),
];

/** What tools may be. */
export const TOOL_RULES: readonly ChatRule[] = [
  {
    id: "tools-empty",
    source: `${REFERENCE}#chat_create-tools`,
    description: "A list of tools has 1 to 128 of them.",
    check: ({ body }) => {
      const tools = field(body, "tools");
      if (tools === undefined) return undefined;
      const { length } = listOf(tools);
      return length >= 1 && length <= 128
        ? undefined
        : `Invalid 'tools': array of length ${length}. Expected 1 to 128.`;
    },
  },
  {
    id: "tools-unsupported",
    source: "https://github.com/ollama/ollama/issues/14795",
    description: "A model that uses no tools is sent none.",
    check: ({ body, model }) =>
      model?.tools === false && field(body, "tools") !== undefined
        ? `${model.id} does not support tools`
        : undefined,
  },
  ofTools({
    id: "tool-shape",
    source: `${SDK} ChatCompletionFunctionTool`,
    description: "A tool has the type function and parameters that are a schema of an object.",
    check: (tool) => {
      if (field(tool, "type") !== "function") return "Missing required parameter: 'tools[0].type'.";
      const type = field(field(field(tool, "function"), "parameters"), "type");
      return type === "object"
        ? undefined
        : "Invalid schema for function: schema must be a JSON Schema of 'type: \"object\"'.";
    },
  }),
  ofTools({
    id: "tool-name",
    source: `${REFERENCE}#chat_create-tools`,
    description: "A tool's name has 1 to 64 letters, digits, _ or -.",
    check: (tool) => badName(field(tool, "function"), "tools"),
  }),
];

export function chatMessagesOf(body: Json | undefined): readonly ChatMessageView[] {
  return listOf(field(body, "messages")).flatMap((message, index) =>
    isObject(message)
      ? [{ at: `messages.[${index}]`, role: String(message["role"]), message }]
      : [],
  );
}

function ofMessages(
  rule: Omit<ChatRule, "check"> & { check: (view: ChatMessageView) => string | undefined },
): ChatRule {
  const check = ({ body }: ChatRuleInput) => firstOf(chatMessagesOf(body), rule.check);
  return { ...rule, check };
}

function ofTools(
  rule: Omit<ChatRule, "check"> & { check: (tool: Json) => string | undefined },
): ChatRule {
  const check = ({ body }: ChatRuleInput) => firstOf(listOf(field(body, "tools")), rule.check);
  return { ...rule, check };
}

function partsOf({ content }: JsonObject): readonly Json[] {
  return listOf(content);
}

function hasPart(body: Json | undefined, type: string): boolean {
  return chatMessagesOf(body).some(({ message }) =>
    partsOf(message).some((part) => field(part, "type") === type),
  );
}

function badName(given: Json | undefined, at: string): string | undefined {
  const name = field(given, "name");
  return typeof name === "string" && NAME.test(name)
    ? undefined
    : `Invalid '${at}.function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$' of at most 64.`;
}

function isJsonObject(text: Json | undefined): boolean {
  if (typeof text !== "string") return true;
  try {
    return isObject(JSON.parse(text));
  } catch {
    return false;
  }
}
