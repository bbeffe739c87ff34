import { describe, expect, test } from "vitest";
import type { McpListing } from "../ports/mcp-servers.ts";
import { isMcpToolName, mcpToolName } from "./mcp-names.ts";
import { judgesMcpTools, mcpServersOf, mcpSettings, offeredMcpTools } from "./mcp-tools.ts";

const setting = (policy: string, enabled = true) => ({
  enabled,
  permission_policy: { type: policy },
});
const toolset = (name: string, config = setting("always_ask"), ...configs: readonly object[]) => ({
  ...{ type: "mcp_toolset", mcp_server_name: name, default_config: config, configs },
});
const server = (name: string) => ({ type: "url", name, url: `https://${name}.test/mcp` });
const input_schema = { type: "object" } as const;
const listed = (name: string, ...tools: readonly string[]): McpListing["servers"][number] => ({
  name,
  tools: tools.map((tool) => ({ name: tool, description: "", input_schema })),
});

describe("the name that a model knows a tool by", () => {
  test("is made of the server's and the tool's where that can be read in one way", () => {
    expect(mcpToolName("wiki", "search")).toBe("mcp__wiki__search");
    expect(mcpToolName("a-b", "c__d")).toBe("mcp__a-b__c__d");
  });

  const ODD: readonly (readonly [string, string])[] = [
    ["wiki", "x".repeat(100)],
    ["s".repeat(255), "tool"],
    ["wiki", "sear.ch"],
    ["wiki", "sear ch"],
    ["wiki", ""],
    ["wiki", 'quo"ted\n'],
    ["wiki", "ünï 🦜"],
    ["wiki", "__proto__\u0000"],
    ["a", "b__c"],
    ["a__b", "c"],
    ["a_", "b"],
    ["a", "_b"],
    ["a", "b"],
    ["", "a"],
  ];

  test.each(ODD)("of %j and %j is one that every API takes", (one, tool) => {
    expect(mcpToolName(one, tool)).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(isMcpToolName(mcpToolName(one, tool))).toBe(true);
    expect(mcpToolName(one, tool)).toBe(mcpToolName(one, tool));
  });

  test("is no other tool's", () => {
    expect(new Set(ODD.map(([one, tool]) => mcpToolName(one, tool))).size).toBe(ODD.length);
    expect(mcpToolName("wiki", "x".repeat(100))).not.toBe(mcpToolName("wiki", "x".repeat(101)));
  });

  test("does not change with the version: it stands in logs", () => {
    expect(mcpToolName("wiki", "sear ch")).toBe("mcp__wiki__sear_ch__0f3zdw11kiweb");
  });
});

describe("the tools of an agent", () => {
  const agent = {
    tools: [
      { type: "custom" },
      toolset(
        "mail",
        setting("always_ask"),
        { name: "read", ...setting("always_allow") },
        { name: "purge", ...setting("always_ask", false) },
      ),
      toolset("wiki", setting("always_allow", false), { name: "search", ...setting("auto") }),
      toolset("off", setting("always_allow", false)),
      toolset("gone"),
    ],
    mcp_servers: [server("wiki"), server("mail"), server("off")],
  };
  const listing = {
    servers: [
      listed("mail", "read", "send", "purge"),
      listed("wiki", "search", "edit"),
      listed("off", "x"),
    ],
  };

  test("are those that are listed and enabled, with their own policy or the toolset's", () => {
    const offered = offeredMcpTools(agent, listing).map((tool) => {
      return tool.runBy === "hands" ? [tool.definition.name, tool.policy, tool.mcp] : [];
    });
    expect(offered).toEqual([
      ["mcp__mail__read", "always_allow", { server: "mail", tool: "read" }],
      ["mcp__mail__send", "always_ask", { server: "mail", tool: "send" }],
      ["mcp__wiki__search", "auto", { server: "wiki", tool: "search" }],
    ]);
    expect(offeredMcpTools(agent, { servers: [] })).toEqual([]);
    expect(offeredMcpTools({ tools: agent.tools }, listing)).toEqual([]);
  });

  test("have words where their server has none", () => {
    const [first] = offeredMcpTools(agent, listing);
    expect(first?.definition.description).toBe("The tool read of the MCP server mail.");
  });

  test("are asked of the servers that have any", () => {
    expect(mcpServersOf(agent)).toEqual(
      ["mail", "wiki"].map((name) => ({ name, url: `https://${name}.test/mcp` })),
    );
    expect(mcpServersOf({ tools: agent.tools })).toEqual([]);
  });

  test("are called with what the agent has now, listed or not", () => {
    expect(mcpSettings(agent, { server: "mail", tool: "new" })).toEqual({
      ...{ type: "mcp", tool: "new" },
      server: { name: "mail", url: "https://mail.test/mcp" },
    });
    expect(mcpSettings(agent, { server: "mail", tool: "purge" })).toBeUndefined();
    expect(mcpSettings(agent, { server: "gone", tool: "x" })).toBeUndefined();
  });

  test("are judged where a policy says so", () => {
    expect(judgesMcpTools(agent)).toBe(true);
    expect(judgesMcpTools({ ...agent, tools: [toolset("mail", setting("auto", false))] })).toBe(
      false,
    );
  });
});
