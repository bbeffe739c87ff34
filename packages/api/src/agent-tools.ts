import { z } from "zod";
import {
  ToolDefaults,
  ToolDefaultsParams,
  toolSettings,
  toolSettingsParams,
} from "./permission-policies.ts";
import { nonEmptyText, problemInJson } from "./text.ts";
import {
  WebFetchConfig,
  WebFetchConfigParams,
  WebSearchConfig,
  WebSearchConfigParams,
} from "./web-tools.ts";

/** An agent's `tools`, as sent (`…Params`) and in the resolved form that is stored (wire §3.1). */

export const toolsMax = 256;
const customDescriptionMax = 32_768;
const inputSchemaLengthMax = 100_000;

export const sandboxToolNames = ["bash", "edit", "read", "write", "glob", "grep"] as const;
/** Every tool of `agent_toolset_20260401`. */
export const toolsetToolNames = [...sandboxToolNames, "web_fetch", "web_search"] as const;
export type SandboxToolName = (typeof sandboxToolNames)[number];
export type ToolsetToolName = (typeof toolsetToolNames)[number];

function sandboxToolParams<N extends SandboxToolName>(name: N) {
  return z.strictObject({
    name: z.literal(name),
    type: z.literal(name).optional(),
    ...toolSettingsParams,
  });
}
function sandboxTool<N extends SandboxToolName>(name: N) {
  return z.object({ name: z.literal(name), type: z.literal(name), ...toolSettings });
}

export const ToolConfigParams = z.discriminatedUnion("name", [
  sandboxToolParams("bash"),
  sandboxToolParams("edit"),
  sandboxToolParams("read"),
  sandboxToolParams("write"),
  sandboxToolParams("glob"),
  sandboxToolParams("grep"),
  WebFetchConfigParams,
  WebSearchConfigParams,
]);
export const ToolConfig = z.discriminatedUnion("name", [
  sandboxTool("bash"),
  sandboxTool("edit"),
  sandboxTool("read"),
  sandboxTool("write"),
  sandboxTool("glob"),
  sandboxTool("grep"),
  WebFetchConfig,
  WebSearchConfig,
]);

export const AgentToolsetParams = z.strictObject({
  type: z.literal("agent_toolset_20260401"),
  configs: z.array(ToolConfigParams).max(toolsetToolNames.length).optional(),
  default_config: ToolDefaultsParams.nullish(),
});
export const AgentToolset = z.object({
  type: z.literal("agent_toolset_20260401"),
  configs: z.array(ToolConfig),
  default_config: ToolDefaults,
});

export const McpToolConfigParams = z.strictObject({
  name: nonEmptyText(128),
  ...toolSettingsParams,
});
export const McpToolConfig = z.object({ name: z.string(), ...toolSettings });

export const McpToolsetParams = z.strictObject({
  type: z.literal("mcp_toolset"),
  mcp_server_name: nonEmptyText(255),
  configs: z.array(McpToolConfigParams).max(toolsMax).optional(),
  default_config: ToolDefaultsParams.nullish(),
});
export const McpToolset = z.object({
  type: z.literal("mcp_toolset"),
  mcp_server_name: z.string(),
  configs: z.array(McpToolConfig),
  default_config: ToolDefaults,
});

/** A JSON Schema; what it holds beside these is passed on as it is. */
export const ToolInputSchema = z.looseObject({
  type: z.literal("object"),
  properties: z.record(z.string(), z.unknown()).nullable().exactOptional(),
  required: z.array(z.string()).nullable().exactOptional(),
});

const customToolName = /^[A-Za-z0-9_-]{1,128}$/;

export const CustomToolParams = z.strictObject({
  type: z.literal("custom"),
  name: z
    .string()
    .regex(customToolName, "must be 1-128 letters, digits, underscores and hyphens")
    .refine((name) => !name.startsWith("mcp__"), "must not begin with mcp__")
    .refine(
      (name) => !toolsetToolNames.some((builtIn) => builtIn === name),
      "is the name of a built-in tool",
    ),
  description: nonEmptyText(customDescriptionMax),
  input_schema: ToolInputSchema.superRefine((schema, context) => {
    const problem = problemInInputSchema(schema);
    if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
  }),
});
export const CustomTool = z.object({
  type: z.literal("custom"),
  name: z.string(),
  description: z.string(),
  input_schema: ToolInputSchema,
});

export const ToolParams = z.discriminatedUnion("type", [
  AgentToolsetParams,
  McpToolsetParams,
  CustomToolParams,
]);
export const Tool = z.discriminatedUnion("type", [AgentToolset, McpToolset, CustomTool]);

function problemInInputSchema(schema: z.infer<typeof ToolInputSchema>): string | undefined {
  const unsafe = problemInJson(schema);
  if (unsafe !== undefined) return unsafe;
  if (JSON.stringify(schema).length > inputSchemaLengthMax) {
    return `must be at most ${inputSchemaLengthMax} characters of JSON`;
  }
  for (const key of ["oneOf", "anyOf", "allOf"]) {
    if (Object.hasOwn(schema, key)) return `${key} is not allowed at the top level`;
  }
  if (hasReference(schema)) return "$ref is not allowed";
  const names = Object.keys(schema.properties ?? {});
  const isNamed = names.every((name) => name.length >= 1 && name.length <= 64);
  return isNamed ? undefined : "property names must have 1-64 characters";
}

/** The depth was bounded before. */
function hasReference(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  if ("$ref" in value && typeof value.$ref === "string") return true;
  return Object.values(value).some(hasReference);
}

export type ToolConfigParams = z.infer<typeof ToolConfigParams>;
export type ToolConfig = z.infer<typeof ToolConfig>;
export type AgentToolsetParams = z.infer<typeof AgentToolsetParams>;
export type AgentToolset = z.infer<typeof AgentToolset>;
export type McpToolConfigParams = z.infer<typeof McpToolConfigParams>;
export type McpToolConfig = z.infer<typeof McpToolConfig>;
export type McpToolsetParams = z.infer<typeof McpToolsetParams>;
export type McpToolset = z.infer<typeof McpToolset>;
export type ToolInputSchema = z.infer<typeof ToolInputSchema>;
export type CustomToolParams = z.infer<typeof CustomToolParams>;
export type CustomTool = z.infer<typeof CustomTool>;
export type ToolParams = z.infer<typeof ToolParams>;
export type Tool = z.infer<typeof Tool>;
