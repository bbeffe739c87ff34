import {
  type AgentToolset,
  type AgentToolsetParams,
  type McpToolset,
  type McpToolsetParams,
  type PermissionPolicy,
  type Tool,
  ToolConfig,
  type ToolConfigParams,
  type ToolDefaults,
  type ToolDefaultsParams,
  type ToolParams,
  type UrlSourceFilter,
  type UrlSources,
  type UrlSourcesParams,
} from "@drover/api";

type Given<T> = T | null | undefined;

/** The tools as they are stored and shown: defaults filled in, shorthands as objects. */
export function resolvedTools(tools: readonly ToolParams[]): Tool[] {
  return tools.map((tool) => {
    switch (tool.type) {
      case "agent_toolset_20260401":
        return resolvedToolset(tool);
      case "mcp_toolset":
        return resolvedMcpToolset(tool);
      default:
        return tool;
    }
  });
}

function resolvedToolset(toolset: AgentToolsetParams): AgentToolset {
  const defaults = resolvedDefaults(toolset.default_config, { type: "always_allow" });
  return {
    type: toolset.type,
    configs: (toolset.configs ?? []).map((config) => resolvedConfig(config, defaults)),
    default_config: defaults,
  };
}

/** MCP servers are somebody else's: their tools are asked about unless the agent says otherwise. */
function resolvedMcpToolset(toolset: McpToolsetParams): McpToolset {
  const defaults = resolvedDefaults(toolset.default_config, { type: "always_ask" });
  return {
    type: toolset.type,
    mcp_server_name: toolset.mcp_server_name,
    configs: (toolset.configs ?? []).map((config) => ({
      name: config.name,
      ...resolvedSettings(config, defaults),
    })),
    default_config: defaults,
  };
}

function resolvedConfig(config: ToolConfigParams, defaults: ToolDefaults): ToolConfig {
  const settings = { type: config.name, ...resolvedSettings(config, defaults) };
  const more =
    config.name === "web_fetch" ? { url_sources: resolvedSources(config.url_sources) } : {};
  // Parsing drops nothing here; it is what ties `type` to `name` for the compiler.
  return ToolConfig.parse({ ...config, ...settings, ...more });
}

function resolvedDefaults(
  given: Given<ToolDefaultsParams>,
  policy: PermissionPolicy,
): ToolDefaults {
  return resolvedSettings(given ?? {}, { enabled: true, permission_policy: policy });
}

function resolvedSettings(given: ToolDefaultsParams, defaults: ToolDefaults): ToolDefaults {
  return {
    enabled: given.enabled ?? defaults.enabled,
    permission_policy: given.permission_policy ?? defaults.permission_policy,
  };
}

function resolvedSources(given: Given<UrlSourcesParams>): UrlSources | null {
  if (given === null || given === undefined) return null;
  return {
    client_tool_results: resolvedFilter(given.client_tool_results),
    server_tool_results: resolvedFilter(given.server_tool_results),
    user_input: resolvedFilter(given.user_input),
  };
}

function resolvedFilter<T extends UrlSourceFilter>(
  given: Given<T | "all" | "none">,
): T | { type: "all" | "none" } | null;
function resolvedFilter(given: Given<UrlSourceFilter | "all" | "none">): UrlSourceFilter | null {
  if (given === null || given === undefined) return null;
  return typeof given === "string" ? { type: given } : given;
}
