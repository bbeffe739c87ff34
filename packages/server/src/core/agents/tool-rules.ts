import {
  type AgentToolset,
  type McpServer,
  type McpToolset,
  type Tool,
  toolsetToolNames,
  toolsMax,
  type UrlSourceFilter,
  type UrlSources,
} from "@drover/api";
import { InvalidRequestError } from "../errors.ts";

/** What `server_tool_results` may name: the tools that the server itself runs. */
const SERVER_TOOLS: ReadonlySet<string> = new Set(["web_search", "web_fetch"]);

/**
 * Rejects, naming the place, tools and MCP servers that contradict each other. They are checked in
 * their resolved form and together, because an update may replace one and keep the other.
 */
export function assertToolRules(tools: readonly Tool[], servers: readonly McpServer[]): void {
  const toolsets = tools.filter((tool) => tool.type === "agent_toolset_20260401");
  const mcpToolsets = tools.filter((tool) => tool.type === "mcp_toolset");
  const customNames = tools.filter((tool) => tool.type === "custom").map((tool) => tool.name);
  if (toolsets.length > 1) throw new InvalidRequestError("tools: only one agent_toolset_20260401");
  assertDistinct(customNames, "tools: two custom tools are named");
  assertDistinct(
    mcpToolsets.map((toolset) => toolset.mcp_server_name),
    "tools: two mcp_toolsets are for the server",
  );
  assertServers(mcpToolsets, servers);
  assertCount(tools);
  for (const toolset of [...toolsets, ...mcpToolsets]) {
    const names = toolset.configs.map((config) => config.name);
    assertDistinct(names, "tools: two configs of a toolset are for");
  }
  for (const toolset of toolsets) assertUrlSources(toolset, new Set(customNames));
}

function assertServers(toolsets: readonly McpToolset[], servers: readonly McpServer[]): void {
  const serverNames = servers.map((server) => server.name);
  assertDistinct(serverNames, "mcp_servers: two servers are named");
  const used = new Set(toolsets.map((toolset) => toolset.mcp_server_name));
  const unused = serverNames.find((name) => !used.has(name));
  if (unused !== undefined) {
    throw new InvalidRequestError(`mcp_servers: no mcp_toolset in tools uses ${quoted(unused)}`);
  }
  const known = new Set(serverNames);
  const unknown = [...used].find((name) => !known.has(name));
  if (unknown !== undefined) {
    throw new InvalidRequestError(`tools: there is no MCP server ${quoted(unknown)}`);
  }
}

/** Of an MCP server's tools only those are known that the toolset names. */
function assertCount(tools: readonly Tool[]): void {
  const counts = tools.map((tool) => {
    if (tool.type === "custom") return 1;
    return tool.type === "mcp_toolset" ? tool.configs.length : toolsetToolNames.length;
  });
  const count = counts.reduce((sum, each) => sum + each, 0);
  if (count > toolsMax) {
    throw new InvalidRequestError(`tools: ${count} tools in all toolsets, at most ${toolsMax}`);
  }
}

function assertUrlSources(toolset: AgentToolset, customNames: ReadonlySet<string>): void {
  for (const config of toolset.configs) {
    if (config.name !== "web_fetch" || config.url_sources === null) continue;
    assertSomeSource(config.url_sources);
    assertNames(config.url_sources.client_tool_results, customNames, "client_tool_results");
    assertNames(config.url_sources.server_tool_results, SERVER_TOOLS, "server_tool_results");
  }
}

function assertSomeSource(sources: UrlSources): void {
  const filters = [sources.client_tool_results, sources.server_tool_results, sources.user_input];
  if (filters.every((filter) => filter?.type === "none")) {
    throw new InvalidRequestError("tools: url_sources allow nothing: disable web_fetch instead");
  }
}

function assertNames(
  filter: UrlSourceFilter | null,
  allowed: ReadonlySet<string>,
  field: string,
): void {
  if (filter === null || !("tools" in filter)) return;
  const unknown = filter.tools.find((tool) => !allowed.has(tool.name));
  if (unknown !== undefined) {
    throw new InvalidRequestError(
      `tools: url_sources.${field} names ${quoted(unknown.name)}, which is no such tool`,
    );
  }
}

function assertDistinct(names: readonly string[], problem: string): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name)) throw new InvalidRequestError(`${problem} ${quoted(name)}`);
    seen.add(name);
  }
}

function quoted(name: string): string {
  return JSON.stringify(name);
}
