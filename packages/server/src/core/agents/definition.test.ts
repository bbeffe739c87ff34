import {
  AgentCreateParams,
  type AgentDefinition,
  Agent as AgentSchema,
  type AgentUpdateParams,
} from "@drover/api";
import { describe, expect, test } from "vitest";
import { newDefinition, repinned, updatedDefinition } from "./definition.ts";
import type { ReferencedAgent, Roster } from "./multiagent.ts";

const self = { id: "agent_self", version: 1 };

function roster(agents: Partial<ReferencedAgent>[] = [], version = 1): Roster {
  const known = agents.map((agent) => ({
    id: "agent_a",
    name: "a",
    version: 3,
    isArchived: false,
    hasMultiagent: false,
    ...agent,
  }));
  return {
    self: { ...self, version, name: "a" },
    find: (id, wanted) =>
      known.find((agent) => agent.id === id && (wanted ?? agent.version) === agent.version),
  };
}

/** Through the schema, as it comes from a client. */
function made(fields: object, agents: Partial<ReferencedAgent>[] = []): AgentDefinition {
  return newDefinition(
    AgentCreateParams.parse({ name: "a", model: "m", ...fields }),
    roster(agents),
  );
}

const allow = { type: "always_allow" };
const ask = { type: "always_ask" };
const toolset = "agent_toolset_20260401";

describe("a new agent", () => {
  test("has every default filled in", () => {
    expect(made({})).toEqual({
      name: "a",
      description: null,
      system: null,
      model: { id: "m", effort: { type: "high" }, speed: "standard" },
      tools: [],
      mcp_servers: [],
      skills: [],
      execution_identity: { type: "service_account" },
      multiagent: null,
      metadata: {},
    });
  });

  test("is what the official client's types call an agent", () => {
    const definition = made({
      tools: [{ type: toolset, configs: [{ name: "web_fetch", url_sources: {} }] }],
      multiagent: { type: "multiagent_20261001" },
    });
    const agent = {
      ...definition,
      ...self,
      type: "agent",
      created_at: "2026-01-01T00:00:00.000Z",
      updated_at: "2026-01-01T00:00:00.000Z",
      archived_at: null,
    };
    expect(AgentSchema.parse(agent)).toEqual(agent);
  });

  test.each<[string, object, object]>([
    [
      "a model as text for effort",
      { model: { id: "m", effort: "low", inference_geo: "us", speed: "fast" } },
      { model: { id: "m", effort: { type: "low" }, inference_geo: "us", speed: "fast" } },
    ],
    [
      "a model with nulls",
      { model: { id: "m", effort: null, inference_geo: null, speed: null } },
      { model: { id: "m", effort: { type: "high" }, speed: "standard" } },
    ],
    [
      "an empty system prompt",
      { system: "", description: "" },
      { system: null, description: null },
    ],
    [
      "a bare toolset",
      { tools: [{ type: toolset }] },
      {
        tools: [
          {
            type: toolset,
            configs: [],
            default_config: { enabled: true, permission_policy: allow },
          },
        ],
      },
    ],
    [
      "a config that inherits from the toolset's default",
      {
        tools: [
          {
            type: toolset,
            default_config: { enabled: false, permission_policy: ask },
            configs: [
              { name: "bash" },
              { name: "read", enabled: true, permission_policy: { type: "auto" } },
            ],
          },
        ],
      },
      {
        tools: [
          {
            type: toolset,
            default_config: { enabled: false, permission_policy: ask },
            configs: [
              { name: "bash", type: "bash", enabled: false, permission_policy: ask },
              { name: "read", type: "read", enabled: true, permission_policy: { type: "auto" } },
            ],
          },
        ],
      },
    ],
    [
      "web tools with their own settings",
      {
        tools: [
          {
            type: toolset,
            configs: [
              {
                name: "web_fetch",
                blocked_domains: ["a.b"],
                max_content_tokens: 9,
                url_sources: {
                  client_tool_results: "none",
                  server_tool_results: {
                    type: "only",
                    tools: [{ type: "tool_reference", name: "web_search" }],
                  },
                },
              },
              { name: "web_search", user_location: { type: "approximate", country: "DE" } },
            ],
          },
        ],
      },
      {
        tools: [
          {
            type: toolset,
            default_config: { enabled: true, permission_policy: allow },
            configs: [
              {
                name: "web_fetch",
                type: "web_fetch",
                enabled: true,
                permission_policy: allow,
                blocked_domains: ["a.b"],
                max_content_tokens: 9,
                url_sources: {
                  client_tool_results: { type: "none" },
                  server_tool_results: {
                    type: "only",
                    tools: [{ type: "tool_reference", name: "web_search" }],
                  },
                  user_input: null,
                },
              },
              {
                name: "web_search",
                type: "web_search",
                enabled: true,
                permission_policy: allow,
                user_location: { type: "approximate", country: "DE" },
              },
            ],
          },
        ],
      },
    ],
    [
      "an MCP toolset, whose tools are asked about by default",
      {
        mcp_servers: [{ type: "url", name: "s", url: "https://h" }],
        tools: [{ type: "mcp_toolset", mcp_server_name: "s", configs: [{ name: "t" }] }],
      },
      {
        tools: [
          {
            type: "mcp_toolset",
            mcp_server_name: "s",
            configs: [{ name: "t", enabled: true, permission_policy: ask }],
            default_config: { enabled: true, permission_policy: ask },
          },
        ],
      },
    ],
    [
      "a skill without a version",
      { skills: [{ type: "anthropic", skill_id: "xlsx" }] },
      { skills: [{ type: "anthropic", skill_id: "xlsx", version: "latest" }] },
    ],
    [
      "a roster of all kinds",
      {
        multiagent: {
          type: "coordinator",
          agents: ["agent_a", { type: "advisor", model: "big" }, { type: "self" }],
        },
      },
      {
        multiagent: {
          type: "coordinator",
          agents: [
            { type: "agent", id: "agent_a", version: 3 },
            { type: "agent", ...self },
            { type: "advisor", model: "big" },
          ],
        },
      },
    ],
    [
      "the newer multiagent with nothing said",
      { multiagent: { type: "multiagent_20261001", workflows: null } },
      {
        multiagent: {
          type: "multiagent_20261001",
          advisor: { type: "disabled" },
          subagents: {
            type: "enabled",
            inline_agents: { type: "enabled" },
            predefined_agents: [],
          },
          workflows: {
            type: "enabled",
            inline_agents: { type: "enabled" },
            predefined_agents: [],
          },
        },
      },
    ],
  ])("resolves %s", (_, fields, expected) => {
    expect(made(fields, [{}])).toMatchObject(expected);
  });

  const custom = (name: string) => ({
    type: "custom",
    name,
    description: "d",
    input_schema: { type: "object" },
  });
  const fetch = (url_sources: object) => ({
    tools: [{ type: toolset, configs: [{ name: "web_fetch", url_sources }] }],
  });
  const only = (name: string) => ({ type: "only", tools: [{ type: "tool_reference", name }] });
  const server = (name: string) => ({ type: "url", name, url: "https://h" });
  const delegation = { type: "enabled", inline_agents: { type: "disabled" } };

  test.each<[string, object, string, Partial<ReferencedAgent>[]?]>([
    [
      "an MCP server that no toolset uses",
      { mcp_servers: [server("s")] },
      'mcp_servers: no mcp_toolset in tools uses "s"',
    ],
    [
      "a toolset for no server",
      { tools: [{ type: "mcp_toolset", mcp_server_name: "s" }] },
      'tools: there is no MCP server "s"',
    ],
    [
      "two MCP servers of one name",
      {
        mcp_servers: [server("s"), server("s")],
        tools: [{ type: "mcp_toolset", mcp_server_name: "s" }],
      },
      'mcp_servers: two servers are named "s"',
    ],
    [
      "two toolsets for one server",
      {
        mcp_servers: [server("s")],
        tools: [
          { type: "mcp_toolset", mcp_server_name: "s" },
          { type: "mcp_toolset", mcp_server_name: "s" },
        ],
      },
      'tools: two mcp_toolsets are for the server "s"',
    ],
    [
      "two built-in toolsets",
      { tools: [{ type: toolset }, { type: toolset }] },
      "tools: only one agent_toolset_20260401",
    ],
    [
      "two configs for one tool",
      { tools: [{ type: toolset, configs: [{ name: "bash" }, { name: "bash" }] }] },
      'tools: two configs of a toolset are for "bash"',
    ],
    [
      "two custom tools of one name",
      { tools: [custom("t"), custom("t")] },
      'tools: two custom tools are named "t"',
    ],
    [
      "257 tools in all toolsets",
      { tools: [{ type: toolset }, ...[...Array(249).keys()].map((i) => custom(`t${i}`))] },
      "tools: 257 tools in all toolsets, at most 256",
    ],
    [
      "url sources that allow nothing",
      fetch({ client_tool_results: "none", server_tool_results: "none", user_input: "none" }),
      "tools: url_sources allow nothing",
    ],
    [
      "url sources that name no custom tool",
      fetch({ client_tool_results: only("t") }),
      'tools: url_sources.client_tool_results names "t"',
    ],
    [
      "url sources that name no server tool",
      fetch({ server_tool_results: only("bash") }),
      'tools: url_sources.server_tool_results names "bash"',
    ],
    [
      "an agent that does not exist",
      { multiagent: { type: "coordinator", agents: ["agent_x"] } },
      "multiagent: there is no agent agent_x",
    ],
    [
      "a version that does not exist",
      {
        multiagent: { type: "coordinator", agents: [{ type: "agent", id: "agent_a", version: 9 }] },
      },
      "multiagent: there is no agent agent_a version 9",
      [{}],
    ],
    [
      "an archived agent",
      { multiagent: { type: "coordinator", agents: ["agent_a"] } },
      "multiagent: agent agent_a is archived",
      [{ isArchived: true }],
    ],
    [
      "a second level of delegation",
      { multiagent: { type: "coordinator", agents: ["agent_a"] } },
      "multiagent: agent agent_a has multiagent itself",
      [{ hasMultiagent: true }],
    ],
    [
      "one agent in two forms",
      {
        multiagent: {
          type: "coordinator",
          agents: ["agent_a", { type: "agent", id: "agent_a", version: 3 }],
        },
      },
      "multiagent.agents: agent_a is named twice",
      [{}],
    ],
    [
      "two advisors",
      {
        multiagent: {
          type: "coordinator",
          agents: [
            { type: "advisor", model: "m" },
            { type: "advisor", model: "n" },
          ],
        },
      },
      "multiagent.agents: an advisor is named twice",
    ],
    [
      "an agent with the advisor's name beside an advisor",
      {
        multiagent: {
          type: "coordinator",
          agents: ["agent_a", { type: "advisor", model: "m" }],
        },
      },
      "multiagent.agents: agent_a has the advisor's name, anthropic.advisor",
      [{ name: "anthropic.advisor" }],
    ],
    [
      "nobody to delegate to",
      { multiagent: { type: "multiagent_20261001", subagents: delegation } },
      "multiagent.subagents.predefined_agents: needs an agent",
    ],
  ])("is refused with %s", (_, fields, problem, agents) => {
    expect(() => made(fields, agents)).toThrow(problem);
  });

  test("is refused beyond a million characters", () => {
    const tools = [...Array(100).keys()].map((i) => ({
      ...custom(`t${i}`),
      description: "x".repeat(20_000),
    }));
    expect(() => made({ tools })).toThrow("larger than 1000000 characters");
  });
});

describe("an update", () => {
  const current = made({
    description: "d",
    system: "s",
    model: { id: "m", effort: "low", inference_geo: "us" },
    tools: [{ type: toolset }, { type: "mcp_toolset", mcp_server_name: "s" }],
    mcp_servers: [{ type: "url", name: "s", url: "https://h" }],
    skills: [{ type: "custom", skill_id: "k", version: "2" }],
    execution_identity: { type: "aws_role", role_arn: "arn" },
    metadata: { a: "1", b: "2" },
  });

  test.each<[string, AgentUpdateParams, object]>([
    ["keeps what is left out", {}, {}],
    ["keeps what metadata null leaves", { metadata: null }, {}],
    ["replaces the name", { name: "b" }, { name: "b" }],
    [
      "clears texts with null or nothing",
      { description: null, system: "" },
      { description: null, system: null },
    ],
    [
      "keeps only the effort of a model that is replaced",
      { model: "n" },
      { model: { id: "n", effort: { type: "low" }, speed: "standard" } },
    ],
    [
      "replaces an effort that is sent",
      { model: { id: "m", effort: { type: "max" }, speed: "fast" } },
      { model: { id: "m", effort: { type: "max" }, speed: "fast" } },
    ],
    ["patches metadata", { metadata: { a: null, b: "", c: "3" } }, { metadata: { b: "", c: "3" } }],
    ["clears tools and servers", { tools: [], mcp_servers: null }, { tools: [], mcp_servers: [] }],
    ["clears skills", { skills: null }, { skills: [] }],
    [
      "restores the default identity",
      { execution_identity: null },
      { execution_identity: { type: "service_account" } },
    ],
  ])("%s", (_, params, changes) => {
    expect(updatedDefinition(current, params, roster())).toStrictEqual({ ...current, ...changes });
  });

  test.each<[string, AgentUpdateParams, string]>([
    [
      "tools without the toolset of a server that stays",
      { tools: [] },
      'mcp_servers: no mcp_toolset in tools uses "s"',
    ],
    [
      "too much metadata in the result",
      { metadata: Object.fromEntries([...Array(15).keys()].map((i) => [`k${i}`, ""])) },
      "metadata: 17 pairs after the change, at most 16 are allowed",
    ],
  ])("is refused with %s", (_, params, problem) => {
    expect(() => updatedDefinition(current, params, roster())).toThrow(problem);
  });
});

describe("an update of multiagent_20261001", () => {
  const type = "multiagent_20261001";
  const stored = {
    type,
    advisor: { type: "enabled", model: "big" },
    subagents: {
      type: "enabled",
      inline_agents: { type: "disabled" },
      predefined_agents: ["agent_a"],
    },
    workflows: { type: "disabled" },
  };
  const current = made({ multiagent: stored }, [{}]);
  const { advisor, subagents, workflows } = {
    advisor: { type: "enabled", model: "big" },
    subagents: {
      type: "enabled",
      inline_agents: { type: "disabled" },
      predefined_agents: [{ type: "agent", id: "agent_a", version: 3 }],
    },
    workflows: { type: "disabled" },
  };
  const fresh = { type: "enabled", inline_agents: { type: "enabled" }, predefined_agents: [] };

  test.each<[string, AgentUpdateParams["multiagent"], object | null]>([
    ["null clears", null, null],
    ["says nothing, keeps all", { type }, { type, advisor, subagents, workflows }],
    [
      "null in a part restores its default",
      { type, advisor: null, workflows: null },
      { type, advisor: { type: "disabled" }, subagents, workflows: fresh },
    ],
    [
      "another type in a part replaces it",
      { type, workflows: { type: "enabled" }, advisor: { type: "disabled" } },
      { type, advisor: { type: "disabled" }, subagents, workflows: fresh },
    ],
    [
      "merges one level down",
      { type, subagents: { type: "enabled", inline_agents: { type: "enabled" } } },
      {
        type,
        advisor,
        subagents: { ...subagents, inline_agents: { type: "enabled" } },
        workflows,
      },
    ],
    [
      "replaces a list that is sent",
      {
        type,
        subagents: { type: "enabled", inline_agents: null, predefined_agents: [{ type: "self" }] },
      },
      {
        type,
        advisor,
        subagents: { ...fresh, predefined_agents: [{ type: "agent", ...self }] },
        workflows,
      },
    ],
    [
      "another form replaces the whole",
      { type: "coordinator", agents: ["agent_a"] },
      { type: "coordinator", agents: [{ type: "agent", id: "agent_a", version: 3 }] },
    ],
  ])("%s", (_, multiagent, expected) => {
    const updated = updatedDefinition(current, { multiagent }, roster([{}]));
    expect(updated.multiagent).toStrictEqual(expected);
  });

  test("is validated in its merged form", () => {
    const subagents = { type: "enabled" as const, predefined_agents: [] };
    expect(() =>
      updatedDefinition(current, { multiagent: { type, subagents } }, roster([{}])),
    ).toThrow("multiagent.subagents.predefined_agents: needs an agent");
  });

  test("references to the agent's present version move to its new one, others stay", () => {
    const before = made(
      { multiagent: { type: "coordinator", agents: [{ type: "self" }, "agent_a"] } },
      [{}],
    );
    expect(repinned(before, { ...self, version: 3 }, 4).multiagent).toEqual(before.multiagent);
    expect(repinned(before, self, 2).multiagent).toEqual({
      type: "coordinator",
      agents: [
        { type: "agent", id: "agent_self", version: 2 },
        { type: "agent", id: "agent_a", version: 3 },
      ],
    });
  });
});
