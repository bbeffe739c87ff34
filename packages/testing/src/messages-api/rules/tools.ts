import type { Json } from "../types.ts";
import { DOCS, type Rule, type RuleInput, SDK } from "./rule.ts";
import { field, firstDouble, firstOf, isList, isObject, listOf, objectOf, oneOf } from "./shape.ts";

const NAME_PATTERN = /^[a-zA-Z0-9_-]{1,128}$/;
const PROPERTY_PATTERN = /^[a-zA-Z0-9_.-]{1,64}$/;
const SERVER_TOOL_PATTERN =
  /^(bash|text_editor|code_execution|web_search|web_fetch|memory|tool_search_tool_\w+|browser_toolset|computer_toolset|computer)_\d{8}$/;
const CUSTOM_FIELDS = [
  "allowed_callers",
  "cache_control",
  "defer_loading",
  "description",
  "eager_input_streaming",
  "input_examples",
  "input_schema",
  "name",
  "strict",
  "type",
];
const CHOICES = ["auto", "any", "tool", "none"];
const TOOL_DOCS = `${DOCS}/agents-and-tools/tool-use/define-tools`;

/** Tool definitions and the choice among them. */
export const TOOL_RULES: readonly Rule[] = [
  {
    id: "tools-shape",
    source: `${SDK} ToolUnion`,
    description: "tools is a list of objects.",
    check: ({ body }) => {
      const tools = field(body, "tools");
      if (tools === undefined) return undefined;
      if (!isList(tools)) return "tools: Input should be a valid list";
      const bad = tools.findIndex((tool) => !isObject(tool));
      return bad < 0 ? undefined : `tools.${bad}: Input should be a valid dictionary`;
    },
  },
  {
    id: "tool-type",
    source: `${SDK} ToolUnion`,
    description: "A tool is custom (or has no type), or is one of the API's own.",
    check: eachTool((tool, at) => {
      const type = tool["type"];
      return type == null || type === "custom" || SERVER_TOOL_PATTERN.test(String(type))
        ? undefined
        : `${at}: Input tag '${String(type)}' found using 'type' does not match any of the expected tags: 'custom'`;
    }),
  },
  {
    id: "tool-name",
    source: TOOL_DOCS,
    description: "A tool's name is 1 to 128 letters, digits, dashes and underscores.",
    check: eachCustomTool((tool, at) => {
      const name = tool["name"];
      if (name === undefined) return `${at}.custom.name: Field required`;
      return typeof name === "string" && NAME_PATTERN.test(name)
        ? undefined
        : `${at}.custom.name: String should match pattern '${NAME_PATTERN.source}'`;
    }),
  },
  {
    id: "tool-names-unique",
    source: `${SDK} ToolNameConflictError`,
    description: "No two tools have one name.",
    check: ({ body }) => {
      const names = listOf(field(body, "tools")).map((tool) => String(field(tool, "name")));
      return firstDouble(names) === undefined ? undefined : "tools: Tool names must be unique.";
    },
  },
  {
    id: "tool-description",
    source: `${SDK} Tool.description`,
    description: "A tool's description is a string.",
    check: eachCustomTool((tool, at) =>
      tool["description"] === undefined || typeof tool["description"] === "string"
        ? undefined
        : `${at}.custom.description: Input should be a valid string`,
    ),
  },
  {
    id: "tool-field-unknown",
    source: `${SDK} Tool`,
    description: "A tool has no field that the API does not know.",
    check: eachCustomTool((tool, at) => {
      const unknown = Object.keys(tool).find((name) => !CUSTOM_FIELDS.includes(name));
      return unknown === undefined
        ? undefined
        : `${at}.custom.${unknown}: Extra inputs are not permitted`;
    }),
  },
  {
    id: "input-schema-object",
    source: `${SDK} Tool.InputSchema`,
    description: "input_schema is a schema whose type is object.",
    check: eachCustomTool((tool, at) => {
      if (tool["input_schema"] === undefined) return `${at}.custom.input_schema: Field required`;
      return field(tool["input_schema"], "type") === "object"
        ? undefined
        : `${at}.custom.input_schema.type: Input should be 'object'`;
    }),
  },
  {
    id: "input-schema-union",
    source: "https://github.com/Hmbown/Codewhale/issues/4329",
    description: "input_schema has no oneOf, allOf or anyOf at the top level.",
    check: eachCustomTool((tool, at) =>
      ["oneOf", "allOf", "anyOf"].some((name) => name in objectOf(tool["input_schema"]))
        ? `${at}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`
        : undefined,
    ),
  },
  {
    id: "input-schema-property",
    source: "API validation: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'",
    description: "The properties of an input_schema have plain names.",
    check: eachCustomTool((tool, at) => {
      const names = Object.keys(objectOf(field(tool["input_schema"], "properties")));
      return names.every((name) => PROPERTY_PATTERN.test(name))
        ? undefined
        : `${at}.custom.input_schema.properties: Property keys should match pattern '${PROPERTY_PATTERN.source}'`;
    }),
  },
  {
    id: "tool-choice",
    source: `${SDK} ToolChoice`,
    description: "tool_choice is auto, any, none, or a tool by name.",
    check: ({ body }) => {
      const choice = field(body, "tool_choice");
      if (choice == null) return undefined;
      const type = String(field(choice, "type"));
      if (!CHOICES.includes(type)) {
        return `tool_choice: Input tag '${type}' found using 'type' does not match any of the expected tags: ${oneOf(CHOICES)}`;
      }
      return type === "tool" && typeof field(choice, "name") !== "string"
        ? "tool_choice.tool.name: Field required"
        : undefined;
    },
  },
  {
    id: "tool-choice-without-tools",
    source: `${DOCS}/agents-and-tools/tool-use/define-tools#forcing-tool-use`,
    description: "A tool can only be forced where there are tools.",
    check: ({ body }) =>
      forced(body) && listOf(field(body, "tools")).length === 0
        ? "tool_choice may only be specified while providing tools"
        : undefined,
  },
  {
    id: "tool-choice-known",
    source: `${SDK} ToolChoiceTool.name`,
    description: "The tool that is forced is defined.",
    check: ({ body }) => {
      const choice = field(body, "tool_choice");
      const name = field(choice, "name");
      const names = listOf(field(body, "tools")).map((tool) => field(tool, "name"));
      return field(choice, "type") === "tool" && name !== undefined && !names.includes(name)
        ? `Tool '${String(name)}' not found in provided tools`
        : undefined;
    },
  },
];

/** Whether tool_choice makes the model use a tool. */
export function forced(body: Json | undefined): boolean {
  return ["any", "tool"].includes(String(field(field(body, "tool_choice"), "type")));
}

type ToolCheck = (tool: ReturnType<typeof objectOf>, at: string) => string | undefined;

function eachTool(check: ToolCheck): (input: RuleInput) => string | undefined {
  return ({ body }) =>
    firstOf(
      listOf(field(body, "tools")).map((tool, index) => ({ tool: objectOf(tool), index })),
      ({ tool, index }) => check(tool, `tools.${index}`),
    );
}

function eachCustomTool(check: ToolCheck): (input: RuleInput) => string | undefined {
  return eachTool((tool, at) =>
    tool["type"] == null || tool["type"] === "custom" ? check(tool, at) : undefined,
  );
}
