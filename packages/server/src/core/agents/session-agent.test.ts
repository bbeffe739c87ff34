import { type Agent, AgentCreateParams, AgentWithOverridesParams } from "@drover/api";
import { describe, expect, test } from "vitest";
import { newDefinition } from "./definition.ts";
import { overriddenAgent, sessionAgent, updatedSessionAgent } from "./session-agent.ts";

function agent(fields: object = {}): Agent {
  const params = AgentCreateParams.parse({ name: "a", model: "m", ...fields });
  const self = { id: "agent_1", version: 4 };
  return {
    ...newDefinition(params, { self: { ...self, name: params.name }, find: () => undefined }),
    ...self,
    type: "agent",
    created_at: "t",
    updated_at: "t",
    archived_at: null,
  };
}

function overrides(fields: object) {
  return AgentWithOverridesParams.parse({ type: "agent_with_overrides", id: "agent_1", ...fields });
}

const full = agent({
  system: "s",
  model: { id: "m", effort: "low", speed: "fast" },
  tools: [{ type: "agent_toolset_20260401" }, { type: "mcp_toolset", mcp_server_name: "s" }],
  mcp_servers: [{ type: "url", name: "s", url: "https://h" }],
  skills: [{ type: "custom", skill_id: "k" }],
});

describe("a session's agent", () => {
  test("is the agent without what belongs to the resource", () => {
    const { metadata, created_at, updated_at, archived_at, ...rest } = full;
    expect(sessionAgent(overriddenAgent(full))).toEqual(rest);
  });

  test.each<[string, object, object]>([
    ["nothing", {}, {}],
    ["a system prompt", { system: "x" }, { system: "x" }],
    ["no system prompt", { system: null }, { system: null }],
    [
      "a model, whose effort is not applied",
      { model: { id: "n", effort: "max" } },
      { model: { id: "n", effort: { type: "high" }, speed: "standard" } },
    ],
    [
      "tools and servers together",
      { tools: [{ type: "agent_toolset_20260401" }], mcp_servers: [] },
      { tools: [full.tools[0]], mcp_servers: [] },
    ],
    [
      "no skills and no tools",
      { skills: [], tools: null, mcp_servers: null },
      { skills: [], tools: [], mcp_servers: [] },
    ],
  ])("can be overridden with %s", (_, fields, changes) => {
    const inherited = overriddenAgent(full);
    expect(overriddenAgent(full, overrides(fields))).toEqual({ ...inherited, ...changes });
  });

  test.each<[string, object, string, string?]>([
    ["no model", { model: null }, "agent.model: ", "agent_model_required"],
    [
      "no tools where skills stay",
      { tools: [], mcp_servers: [] },
      "agent.tools: skills need tools",
    ],
    [
      "tools without read where skills stay",
      {
        tools: [{ type: "agent_toolset_20260401", configs: [{ name: "read", enabled: false }] }],
        mcp_servers: [],
      },
      "agent.tools: skills need the tool read",
    ],
    ["no servers where toolsets stay", { mcp_servers: [] }, 'there is no MCP server "s"'],
  ])("is refused with %s", (_, fields, message, code) => {
    expect(() => overriddenAgent(full, overrides(fields))).toThrow(
      expect.objectContaining({ message: expect.stringContaining(message), code }),
    );
  });

  test("can get other tools later, in the resolved form and checked", () => {
    const before = sessionAgent(overriddenAgent(full));
    const after = updatedSessionAgent(before, {
      tools: [{ type: "agent_toolset_20260401", configs: [{ name: "bash", enabled: false }] }],
      mcp_servers: [],
    });
    expect(after).toEqual({
      ...before,
      mcp_servers: [],
      tools: [
        {
          type: "agent_toolset_20260401",
          configs: [
            {
              name: "bash",
              type: "bash",
              enabled: false,
              permission_policy: { type: "always_allow" },
            },
          ],
          default_config: { enabled: true, permission_policy: { type: "always_allow" } },
        },
      ],
    });
    expect(() => updatedSessionAgent(before, { tools: [] })).toThrow("no mcp_toolset in tools");
  });

  test("keeps what its skills are read with", () => {
    const before = sessionAgent(overriddenAgent(full));
    const update = (tools: AgentCreateParams["tools"]) =>
      updatedSessionAgent(before, { tools: tools ?? [], mcp_servers: [] });
    const readOff = { name: "read" as const, enabled: false };
    expect(() => update([])).toThrow("agent.tools: skills need tools");
    expect(() => update([{ type: "agent_toolset_20260401", configs: [readOff] }])).toThrow(
      "agent.tools: skills need the tool read",
    );
    expect(() =>
      update([{ type: "custom", name: "c", description: "d", input_schema: { type: "object" } }]),
    ).toThrow("agent.tools: skills need the tool read");
    const onlyRead = {
      default_config: { enabled: false },
      configs: [{ name: "read" as const, enabled: true }],
    };
    expect(update([{ type: "agent_toolset_20260401", ...onlyRead }]).tools).toHaveLength(1);
  });

  test("is not larger than an agent may be, however it was changed", () => {
    const server = { type: "mcp_toolset" as const, mcp_server_name: "s" };
    const tools = (count: number) => [
      server,
      ...Array.from({ length: count }, (_, index) => ({
        type: "custom" as const,
        name: `big_${index}`,
        description: "d",
        input_schema: {
          type: "object" as const,
          properties: { a: { enum: ["x".repeat(90_000)] } },
        },
      })),
    ];
    const [fits, tooLarge] = [tools(10), tools(12)];
    const before = sessionAgent(overriddenAgent(full, overrides({ tools: fits, skills: [] })));
    expect(() => overriddenAgent(full, overrides({ tools: tooLarge }))).toThrow("larger than");
    expect(() => updatedSessionAgent(before, { tools: tooLarge })).toThrow("larger than");
  });

  test("keeps a multiagent in which everything is disabled", () => {
    const off = { type: "disabled" };
    const multiagent = { type: "multiagent_20261001", subagents: off, workflows: off };
    const snapshot = sessionAgent(overriddenAgent(agent({ multiagent })));
    expect(snapshot.multiagent).toEqual({ ...multiagent, advisor: off });
  });
});
