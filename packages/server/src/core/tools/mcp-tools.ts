import { z } from "zod";
import type { McpListing, McpServerAddress, McpToolListed } from "../ports/mcp-servers.ts";
import { mcpToolName } from "./mcp-names.ts";
import type { OfferedTool } from "./offered-tools.ts";
import { ToolSetting } from "./tool-setting.ts";
import type { McpSettings } from "./tool-settings.ts";

/** An agent's resolved parts, as far as they decide which MCP tools it has. */
export interface McpAgent {
  readonly tools: readonly unknown[];
  readonly mcp_servers?: readonly unknown[];
}

/** The resolved form of `mcp_toolset`, as far as it decides what is offered. */
const McpToolset = z.object({
  type: z.literal("mcp_toolset"),
  mcp_server_name: z.string(),
  default_config: ToolSetting,
  configs: z.array(z.looseObject({ ...ToolSetting.shape, name: z.string() })),
});
type McpToolset = z.infer<typeof McpToolset>;

const Server = z.object({ type: z.literal("url"), name: z.string(), url: z.string() });

/** The servers whose tools an agent may use, in the order of its toolsets. */
export function mcpServersOf(agent: McpAgent): readonly McpServerAddress[] {
  return toolsetsOf(agent).flatMap(({ toolset, server }) => {
    const isUsed = [toolset.default_config, ...toolset.configs].some(({ enabled }) => enabled);
    return isUsed ? [server] : [];
  });
}

/** The tools that an agent is offered of those that its servers have. */
export function offeredMcpTools(agent: McpAgent, listing: McpListing): readonly OfferedTool[] {
  const taken = new Set<string>();
  return toolsetsOf(agent).flatMap(({ toolset, server }) => {
    const listed = listing.servers.find(({ name }) => name === server.name);
    return (listed?.tools ?? []).flatMap((tool): OfferedTool[] => {
      const { enabled, permission_policy } = settingOf(toolset, tool.name);
      const name = mcpToolName(server.name, tool.name);
      // Two hashes that are alike can only have been made so.
      if (!enabled || taken.has(name)) return [];
      taken.add(name);
      return [
        {
          runBy: "hands",
          policy: permission_policy.type,
          definition: { ...definitionOf(server.name, tool), name },
          mcp: { server: server.name, tool: tool.name },
        },
      ];
    });
  });
}

/** What goes with a call of the tool now; undefined if the agent does not have it, or not any more. */
export function mcpSettings(
  agent: McpAgent,
  { server: serverName, tool }: { readonly server: string; readonly tool: string },
): McpSettings | undefined {
  const found = toolsetsOf(agent).find(({ server }) => server.name === serverName);
  if (found === undefined || !settingOf(found.toolset, tool).enabled) return undefined;
  return { type: "mcp", server: found.server, tool };
}

/** True if calls of some MCP tool may have to be judged. */
export function judgesMcpTools(agent: McpAgent): boolean {
  return toolsetsOf(agent).some(({ toolset }) =>
    [toolset.default_config, ...toolset.configs].some(
      ({ enabled, permission_policy }) => enabled && permission_policy.type === "auto",
    ),
  );
}

function toolsetsOf({ tools, mcp_servers = [] }: McpAgent) {
  const servers = mcp_servers.flatMap((server) => Server.safeParse(server).data ?? []);
  return tools.flatMap((tool) => {
    const toolset = McpToolset.safeParse(tool).data;
    const server = servers.find(({ name }) => name === toolset?.mcp_server_name);
    if (toolset === undefined || server === undefined) return [];
    return [{ toolset, server: { name: server.name, url: server.url } }];
  });
}

function settingOf(toolset: McpToolset, tool: string) {
  return toolset.configs.find(({ name }) => name === tool) ?? toolset.default_config;
}

function definitionOf(server: string, { name, description, input_schema }: McpToolListed) {
  const words = description === "" ? `The tool ${name} of the MCP server ${server}.` : description;
  return { description: words, input_schema };
}
