import { describe, expect, test } from "vitest";
import type { z } from "zod";
import {
  AgentCreateParams,
  AgentUpdateParams,
  describeProblems,
  EnvironmentCreateParams,
  EventStreamQuery,
  FileListQuery,
  problemInJson,
  queryRecord,
  SessionCreateParams,
  SessionListQuery,
} from "./index.ts";

const toolset = "agent_toolset_20260401";
const agent = { name: "a", model: "m" };
const session = { agent: "agent_1", environment_id: "env_1" };

function problems(schema: z.ZodType, value: unknown): string | undefined {
  const result = schema.safeParse(value);
  return result.success ? undefined : describeProblems(result.error);
}

function withTools(...tools: unknown[]) {
  return { ...agent, tools };
}
function withTool(config: object) {
  return withTools({ type: toolset, configs: [config] });
}
function withCustom(fields: object) {
  return withTools({
    type: "custom",
    name: "t",
    description: "d",
    input_schema: { type: "object" },
    ...fields,
  });
}

describe("a field that is not known is refused by its full name", () => {
  test.each<[string, z.ZodType, unknown, string]>([
    ["at the top", AgentCreateParams, { ...agent, sytem: "x" }, "sytem: unknown field"],
    [
      "in a tool's config",
      AgentCreateParams,
      withTool({ name: "bash", permission_polcy: { type: "always_ask" } }),
      "tools.0.configs.0.permission_polcy: unknown field",
    ],
    [
      "in a policy",
      AgentCreateParams,
      withTool({ name: "bash", permission_policy: { type: "always_ask", when: 1 } }),
      "tools.0.configs.0.permission_policy.when: unknown field",
    ],
    [
      "in a toolset's default",
      AgentCreateParams,
      withTools({ type: toolset, default_config: { enabeld: false } }),
      "tools.0.default_config.enabeld: unknown field",
    ],
    [
      "in an object that could have been a string",
      AgentCreateParams,
      { name: "a", model: { id: "m", efort: "low" } },
      "model.efort: unknown field",
    ],
    [
      "in a session's overrides",
      SessionCreateParams,
      { ...session, agent: { type: "agent_with_overrides", id: "agent_1", toolz: [] } },
      "agent.toolz: unknown field",
    ],
    [
      "in the networking of an environment",
      EnvironmentCreateParams,
      { name: "e", config: { type: "cloud", networking: { type: "limited", alowed_hosts: [] } } },
      "config.networking.alowed_hosts: unknown field",
    ],
    [
      "in a url source",
      AgentCreateParams,
      withTool({ name: "web_fetch", url_sources: { user_input: { type: "all", x: 1 } } }),
      "tools.0.configs.0.url_sources.user_input.x: unknown field",
    ],
    ["in a query", SessionListQuery, { statues: "idle" }, "statues: unknown field"],
  ])("%s", (_, schema, value, problem) => {
    expect(problems(schema, value)).toBe(problem);
  });
});

describe("a value that cannot be honoured is refused by name", () => {
  test.each<[string, z.ZodType, unknown, string]>([
    ["a NUL in a name", AgentCreateParams, { ...agent, name: "a\0" }, "name: must not contain NUL"],
    [
      "half a surrogate pair",
      AgentCreateParams,
      { ...agent, system: "\ud83d" },
      "system: must not contain NUL",
    ],
    [
      "an endless system prompt",
      AgentCreateParams,
      { ...agent, system: "x".repeat(100_001) },
      "system: too big",
    ],
    ["an empty name", AgentUpdateParams, { name: "" }, "name: too small"],
    ["a name of null", AgentUpdateParams, { name: null }, "name: invalid input"],
    ["version 0", AgentUpdateParams, { version: 0 }, "version: too small"],
    [
      "17 pairs of metadata",
      AgentCreateParams,
      { ...agent, metadata: Object.fromEntries([...Array(17).keys()].map((i) => [`k${i}`, ""])) },
      "metadata: at most 16 pairs",
    ],
    [
      "a long metadata key",
      AgentCreateParams,
      { ...agent, metadata: { ["k".repeat(65)]: "" } },
      "the key is not valid: must be at most 64 characters",
    ],
    [
      "a long metadata value",
      AgentCreateParams,
      { ...agent, metadata: { k: "v".repeat(513) } },
      "metadata.k: too big",
    ],
    [
      "a tool without a type",
      AgentCreateParams,
      withTools({}),
      "tools.0.type: invalid discriminator value. Expected 'agent_toolset_20260401' | 'mcp_toolset'",
    ],
    [
      "an unknown permission policy",
      AgentCreateParams,
      withTool({ name: "bash", permission_policy: { type: "never" } }),
      "tools.0.configs.0.permission_policy.type: invalid",
    ],
    [
      "257 tools",
      AgentCreateParams,
      withTools(...Array(257).fill({ type: toolset })),
      "tools: too big",
    ],
    ["a bad tool name", AgentCreateParams, withCustom({ name: "a b" }), "tools.0.name: must be"],
    [
      "a built-in's name",
      AgentCreateParams,
      withCustom({ name: "bash" }),
      "tools.0.name: is the name of a built-in tool",
    ],
    [
      "an MCP tool's name",
      AgentCreateParams,
      withCustom({ name: "mcp__x" }),
      "tools.0.name: must not begin with mcp__",
    ],
    [
      "a reference in an input schema",
      AgentCreateParams,
      withCustom({ input_schema: { type: "object", properties: { a: { $ref: "#/x" } } } }),
      "tools.0.input_schema: $ref is not allowed",
    ],
    [
      "alternatives at the top of an input schema",
      AgentCreateParams,
      withCustom({ input_schema: { type: "object", anyOf: [] } }),
      "tools.0.input_schema: anyOf is not allowed at the top level",
    ],
    [
      "a NUL deep in an input schema",
      AgentCreateParams,
      withCustom({ input_schema: { type: "object", properties: { a: { enum: ["\0"] } } } }),
      "tools.0.input_schema: properties.a.enum.0: must not contain NUL",
    ],
    [
      "both lists of domains",
      AgentCreateParams,
      withTool({ name: "web_fetch", allowed_domains: ["a.b"], blocked_domains: ["c.d"] }),
      "tools.0.configs.0: allowed_domains and blocked_domains cannot be combined",
    ],
    [
      "an empty list of domains",
      AgentCreateParams,
      withTool({ name: "web_search", allowed_domains: [] }),
      "tools.0.configs.0.allowed_domains: must not be empty",
    ],
    [
      "a domain with a scheme",
      AgentCreateParams,
      withTool({ name: "web_search", allowed_domains: ["https://a.b"] }),
      "tools.0.configs.0.allowed_domains.0: must be a hostname",
    ],
    [
      "a path for web_fetch",
      AgentCreateParams,
      withTool({ name: "web_fetch", allowed_domains: ["a.b/c"] }),
      "tools.0.configs.0.allowed_domains.0: must be a plain hostname",
    ],
    [
      "a time zone that there is not",
      AgentCreateParams,
      withTool({
        name: "web_search",
        user_location: { type: "approximate", timezone: "Mars/Olympus" },
      }),
      "tools.0.configs.0.user_location.timezone: must be an IANA time zone",
    ],
    [
      "a URL of a server that is none",
      AgentCreateParams,
      { ...agent, mcp_servers: [{ type: "url", name: "s", url: "https://:443/" }] },
      "mcp_servers.0.url: must be an http or https URL",
    ],
    [
      "a host with a port",
      EnvironmentCreateParams,
      {
        name: "e",
        config: { type: "cloud", networking: { type: "limited", allowed_hosts: ["a:1"] } },
      },
      "config.networking.allowed_hosts.0: must be a bare host",
    ],
    [
      "a package that is an option",
      EnvironmentCreateParams,
      { name: "e", config: { type: "cloud", packages: { pip: ["--index-url=x"] } } },
      "config.packages.pip.0: must be a package name",
    ],
    [
      "an agent of the wrong kind",
      SessionCreateParams,
      { ...session, agent: 4 },
      "agent: expected string or object",
    ],
    [
      "51 initial events",
      SessionCreateParams,
      {
        ...session,
        initial_events: Array(51).fill({
          type: "user.message",
          content: [{ type: "text", text: "x" }],
        }),
      },
      "initial_events: too big",
    ],
    [
      "an initial event that may only follow",
      SessionCreateParams,
      { ...session, initial_events: [{ type: "system.message", content: [] }] },
      "initial_events.0.type: invalid",
    ],
    [
      "a budget with leading zeros",
      SessionCreateParams,
      {
        ...session,
        budget: { type: "limit", max_list_cost: { amount: "007", currency: "USD" } },
      },
      "budget.max_list_cost.amount: must be whole minor units",
    ],
    [
      "ids together with limit",
      FileListQuery,
      { ids: ["file_1"], limit: "1" },
      "ids cannot be combined",
    ],
    [
      "a time that is none",
      SessionListQuery,
      { "created_at[gt]": "now" },
      "created_at[gt]: invalid",
    ],
    ["a limit of 0", SessionListQuery, { limit: "0" }, "limit: too small"],
    [
      "an unknown preview",
      EventStreamQuery,
      { event_deltas: "agent.tool_use" },
      "event_deltas.0: invalid",
    ],
  ])("%s", (_, schema, value, problem) => {
    expect(problems(schema, value)).toContain(problem);
  });

  test("no more of the sender's text is repeated than it takes to recognise it", () => {
    const value = Object.fromEntries([...Array(50).keys()].map((i) => [`${i}`.repeat(500), 1]));
    const text = problems(AgentCreateParams, value) ?? "";
    expect(text.length).toBeLessThan(1200);
    expect(text).toContain("and 42 more");
  });
});

describe("what the contract allows is accepted", () => {
  test.each<[string, z.ZodType, unknown]>([
    ["a minimal agent", AgentCreateParams, agent],
    [
      "a search domain with a path",
      AgentCreateParams,
      withTool({ name: "web_search", allowed_domains: ["a.b/c"] }),
    ],
    [
      "every kind of tool",
      AgentCreateParams,
      {
        ...withTools(
          { type: toolset, configs: [{ name: "bash", type: "bash", enabled: null }] },
          { type: "mcp_toolset", mcp_server_name: "s" },
          {
            type: "custom",
            name: "t-1",
            description: "d",
            input_schema: { type: "object", required: null, additionalProperties: false },
          },
        ),
        mcp_servers: [{ type: "url", name: "s", url: "https://h/mcp" }],
      },
    ],
    [
      "every kind of roster entry",
      AgentCreateParams,
      {
        ...agent,
        multiagent: {
          type: "coordinator",
          agents: [
            "agent_1",
            { type: "agent", id: "agent_2", version: 3 },
            { type: "self" },
            { type: "advisor", model: "m" },
          ],
        },
      },
    ],
    ["a cleared tool list", AgentUpdateParams, { tools: null, metadata: { a: null } }],
    [
      "a wildcard host",
      EnvironmentCreateParams,
      {
        name: "e",
        config: { type: "cloud", networking: { type: "limited", allowed_hosts: ["*.a.b"] } },
      },
    ],
    [
      "pinned packages",
      EnvironmentCreateParams,
      {
        name: "e",
        config: { type: "cloud", packages: { pip: ["x==1"], npm: ["@s/x@1"], gem: ["x:1"] } },
      },
    ],
  ])("%s", (_, schema, value) => {
    expect(problems(schema, value)).toBeUndefined();
  });
});

describe("queries", () => {
  test("arrays come in brackets or repeated, empty values and beta are absent", () => {
    const query = new URLSearchParams(
      "statuses[]=idle&statuses[]=running&created_at%5Bgte%5D=2026-01-01T02:00:00%2B02:00&page=&beta=true&limit=5",
    );
    expect(SessionListQuery.parse(queryRecord(query))).toEqual({
      statuses: ["idle", "running"],
      "created_at[gte]": "2026-01-01T00:00:00.000Z",
      limit: 5,
    });
    expect(queryRecord(new URLSearchParams("types=a&types=b"))).toEqual({ types: ["a", "b"] });
  });

  test("a single value repeated is refused", () => {
    expect(problems(SessionListQuery, { limit: ["1", "2"] })).toContain("limit: ");
  });
});

describe("JSON that is too odd to be walked", () => {
  test("is refused by place", () => {
    const deep = JSON.parse(`${"[".repeat(100_000)}${"]".repeat(100_000)}`);
    expect(problemInJson({ a: deep })).toContain("nested deeper than 64 levels");
    expect(problemInJson({ a: [{ b: "x\0" }] })).toBe(
      "a.0.b: must not contain NUL or unpaired surrogates",
    );
    expect(problemInJson(JSON.parse('{"a":{"__proto__":{}}}'))).toBe(
      "a: a field has an unusable name",
    );
    expect(problemInJson({ a: [1, null, "ok", { b: true }] })).toBeUndefined();
  });
});
