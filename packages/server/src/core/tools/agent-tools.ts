import type { McpListing } from "../ports/mcp-servers.ts";
import { type McpAgent, offeredMcpTools } from "./mcp-tools.ts";
import { type OfferedTool, offeredTools } from "./offered-tools.ts";

/** Every tool that an agent is offered; those of MCP servers once it is known what they have. */
export function agentTools(agent: McpAgent, listing?: McpListing): readonly OfferedTool[] {
  const own = offeredTools(agent.tools);
  return listing === undefined ? own : [...own, ...offeredMcpTools(agent, listing)];
}
