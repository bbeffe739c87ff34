import { z } from "zod";
import type { ModelTool } from "../ports/model.ts";
import { BUILTIN_TOOLS } from "./builtin-tools.ts";
import { ToolSetting } from "./tool-setting.ts";
import { type WebTool, webTool } from "./web-settings.ts";

/** Who decides whether a call may run: nobody, the user, or a judge. */
export type PolicyType = "always_allow" | "always_ask" | "auto";

/** A tool that a model is offered, with who runs its calls and who allows them. */
export type OfferedTool =
  | {
      readonly runBy: "hands";
      readonly policy: PolicyType;
      readonly definition: ModelTool;
      /** Of a tool that runs outside of the sandbox. */
      readonly web?: WebTool;
      /** Of a tool that an MCP server runs: the two names that its own is made from. */
      readonly mcp?: { readonly server: string; readonly tool: string };
    }
  | { readonly runBy: "client"; readonly definition: ModelTool }
  /** Answered from the log by the loop itself, which needs nobody's leave. */
  | { readonly runBy: "loop"; readonly definition: ModelTool };

/** The resolved form of `agent_toolset_20260401`, as far as it decides what is offered. */
const Toolset = z.object({
  type: z.literal("agent_toolset_20260401"),
  default_config: ToolSetting,
  configs: z.array(z.looseObject({ ...ToolSetting.shape, name: z.string() })),
});

const CustomTool = z.object({
  type: z.literal("custom"),
  name: z.string(),
  description: z.string(),
  input_schema: z.looseObject({ type: z.literal("object") }),
});

const AnyTool = z.discriminatedUnion("type", [Toolset, CustomTool]);

/**
 * The tools that a model is offered for an agent's resolved `tools`, in their order, but for those of MCP
 * servers. What is disabled is left out, and what is not offered is not run.
 */
export function offeredTools(tools: readonly unknown[]): readonly OfferedTool[] {
  return tools.flatMap((tool) => {
    const { data } = AnyTool.safeParse(tool);
    if (data === undefined) return [];
    return data.type === "custom" ? [customTool(data)] : builtinTools(data);
  });
}

function builtinTools(toolset: z.infer<typeof Toolset>): readonly OfferedTool[] {
  return BUILTIN_TOOLS.flatMap((definition) => {
    const setting = toolset.configs.find(({ name }) => name === definition.name);
    const { enabled, permission_policy } = setting ?? toolset.default_config;
    if (!enabled) return [];
    const web = webTool(definition.name, toolset.configs);
    const policy = permission_policy.type;
    return [{ runBy: "hands", policy, definition, ...(web !== undefined && { web }) }];
  });
}

function customTool({ name, description, input_schema }: z.infer<typeof CustomTool>): OfferedTool {
  // The contract has null for what a model's API wants left out.
  const given = Object.entries(input_schema).filter(([, value]) => value !== null);
  const schema: ModelTool["input_schema"] = { ...Object.fromEntries(given), type: "object" };
  return { runBy: "client", definition: { name, description, input_schema: schema } };
}
