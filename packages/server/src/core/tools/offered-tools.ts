import { z } from "zod";
import type { ModelTool } from "../ports/model.ts";
import { BUILTIN_TOOLS } from "./builtin-tools.ts";

const Setting = z.object({
  enabled: z.boolean(),
  permission_policy: z.object({ type: z.string() }),
});

/** The resolved form of `agent_toolset_20260401`, as far as it decides what is offered. */
const Toolset = z.object({
  type: z.literal("agent_toolset_20260401"),
  default_config: Setting,
  configs: z.array(Setting.extend({ name: z.string() })),
});

/**
 * The tools that a model is offered for an agent's resolved `tools`. A tool is left out that is
 * disabled, or whose calls would need an approval that nobody can give yet: what is not offered is
 * not run.
 */
export function offeredTools(tools: readonly unknown[]): readonly ModelTool[] {
  const toolset = tools
    .map((tool) => Toolset.safeParse(tool))
    .find((parsed) => parsed.success)?.data;
  if (toolset === undefined) return [];
  return BUILTIN_TOOLS.filter(({ name }) => {
    const setting = toolset.configs.find((config) => config.name === name);
    const { enabled, permission_policy } = setting ?? toolset.default_config;
    return enabled && permission_policy.type === "always_allow";
  });
}
