import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import {
  ALLOW,
  ASK,
  agentWith,
  configured,
  connected,
  custom,
  many,
  noAgentWith,
  TOOLSET,
} from "../support/agents.ts";
import { assertHas } from "../support/expect.ts";

const NAMES = ["bash", "edit", "read", "write", "glob", "grep", "web_fetch", "web_search"];
const AUTO = { type: "auto" };

/** Toolsets, MCP toolsets and custom tools; for the web's tools see `agent-web-tools.ts`. */
export const agentTools: readonly Scenario[] = [
  scenario(
    "a toolset has its defaults filled in",
    {
      verifies: [
        "agents.toolset.defaults",
        "agents.toolset.default-null",
        "agents.toolset.default-echo",
        "agents.tools.type",
        "agents.toolset.once",
      ],
      rows: [12],
    },
    async (t) => {
      const fallback = { enabled: true, permission_policy: ALLOW };
      const nulls = { enabled: null, permission_policy: null };
      for (const default_config of [undefined, null, {}, nulls]) {
        const { tools } = await agentWith(t, { tools: [{ type: TOOLSET, default_config }] });
        assert.deepEqual(tools, [{ type: TOOLSET, configs: [], default_config: fallback }]);
      }
      const sent = { enabled: false, permission_policy: ASK };
      const { tools } = await agentWith(t, { tools: [{ type: TOOLSET, default_config: sent }] });
      assert.deepEqual(tools, [{ type: TOOLSET, configs: [], default_config: sent }]);
      await noAgentWith(t, { tools: [{ type: "agent_toolset_20990101" }] }, /tools\.0/);
      await noAgentWith(t, { tools: [{ configs: [] }] }, /tools\.0/);
      await noAgentWith(t, { tools: [{ type: TOOLSET }, { type: TOOLSET }] }, /tools/);
    },
  ),

  scenario(
    "each built-in tool can be configured, once and under its own name",
    {
      verifies: [
        "agents.toolset.names",
        "agents.toolset.name-unknown",
        "agents.toolset.config-type",
        "agents.toolset.config-type-other",
        "agents.toolset.config-distinct",
      ],
      rows: [12, 13],
    },
    async (t) => {
      const configs = NAMES.map((name) => ({ name }));
      const { tools } = await agentWith(t, { tools: [{ type: TOOLSET, configs }] });
      assertHas(tools[0], { configs: NAMES.map((name) => ({ name, type: name })) });
      await agentWith(t, { tools: configured({ name: "bash", type: "bash" }) });
      await noAgentWith(t, { tools: configured({ name: "bash", type: "read" }) }, /configs\.0/);
      await noAgentWith(t, { tools: configured({ name: "shell" }) }, /configs\.0/);
      await noAgentWith(t, { tools: configured({ type: "bash" }) }, /configs\.0/);
      const twice = [{ name: "bash" }, { name: "bash", enabled: false }];
      await noAgentWith(t, { tools: [{ type: TOOLSET, configs: twice }] }, /bash/);
    },
  ),

  scenario(
    "a config takes what it leaves out from the toolset's default",
    {
      verifies: ["agents.toolset.config-default", "agents.toolset.config-override"],
      rows: [12],
    },
    async (t) => {
      const default_config = { enabled: false, permission_policy: ASK };
      const configs = [
        { name: "bash" },
        { name: "read", enabled: null, permission_policy: null },
        { name: "edit", enabled: true },
        { name: "grep", permission_policy: ALLOW },
      ];
      const { tools } = await agentWith(t, { tools: [{ type: TOOLSET, default_config, configs }] });
      const resolved = (name: string, more: object = {}) => ({
        name,
        type: name,
        ...default_config,
        ...more,
      });
      const expected = [
        resolved("bash"),
        resolved("read"),
        resolved("edit", { enabled: true }),
        resolved("grep", { permission_policy: ALLOW }),
      ];
      assert.deepEqual(tools, [{ type: TOOLSET, default_config, configs: expected }]);
    },
  ),

  scenario(
    "there are three permission policies",
    { verifies: ["agents.policy.types", "agents.policy.unknown"], rows: [12] },
    async (t) => {
      for (const permission_policy of [ALLOW, ASK, AUTO]) {
        const { tools } = await agentWith(t, {
          tools: configured({ name: "bash", permission_policy }),
        });
        assertHas(tools[0], { configs: [{ permission_policy }] });
      }
      const never = { permission_policy: { type: "never" } };
      await noAgentWith(t, { tools: configured({ name: "bash", ...never }) }, /permission_policy/);
      await noAgentWith(
        t,
        { tools: [{ type: TOOLSET, default_config: never }] },
        /permission_policy/,
      );
    },
  ),

  scenario(
    "an MCP toolset asks by default, and resolves its configs",
    {
      verifies: ["agents.mcp-toolset.defaults", "agents.mcp-toolset.configs"],
      rows: [12],
    },
    async (t) => {
      const { mcp_servers, tools: plain } = connected("one");
      const made = await agentWith(t, { mcp_servers, tools: plain });
      const fallback = { enabled: true, permission_policy: ASK };
      const toolset = { type: "mcp_toolset", mcp_server_name: "one" };
      assert.deepEqual(made.tools, [{ ...toolset, configs: [], default_config: fallback }]);
      const default_config = { enabled: false, permission_policy: null };
      const configs = [
        { name: "search" },
        { name: "post", enabled: true, permission_policy: ALLOW },
      ];
      const { tools } = await agentWith(t, {
        mcp_servers,
        tools: [{ ...toolset, default_config, configs }],
      });
      const off = { enabled: false, permission_policy: ASK };
      assert.deepEqual(tools, [
        {
          ...toolset,
          default_config: off,
          configs: [{ name: "search", ...off }, configs[1]],
        },
      ]);
    },
  ),

  scenario(
    "an MCP toolset is for one server that there is",
    {
      verifies: [
        "agents.mcp-toolset.server",
        "agents.mcp-toolset.name",
        "agents.mcp-toolset.once",
        "agents.mcp-toolset.tool-name",
        "agents.mcp-toolset.distinct",
      ],
      rows: [13],
    },
    async (t) => {
      const { mcp_servers, tools } = connected("one");
      const toolset = (more: object) => ({ mcp_servers, tools: [{ ...tools[0], ...more }] });
      await noAgentWith(t, { tools }, /one/);
      await noAgentWith(t, { mcp_servers, tools: [...tools, ...connected("two").tools] }, /two/);
      await noAgentWith(t, { mcp_servers, tools: [...tools, ...tools] }, /one/);
      await noAgentWith(t, toolset({ mcp_server_name: "" }), /mcp_server_name/);
      await noAgentWith(t, toolset({ mcp_server_name: "n".repeat(256) }), /mcp_server_name/);
      const tool = (length: number) => toolset({ configs: [{ name: "n".repeat(length) }] });
      await agentWith(t, tool(128));
      await noAgentWith(t, tool(129), /configs\.0\.name/);
      await noAgentWith(t, tool(0), /configs\.0\.name/);
      await noAgentWith(t, toolset({ configs: [{ name: "a" }, { name: "a" }] }), /a/);
    },
  ),

  scenario(
    "a custom tool comes back as it was sent",
    { verifies: ["agents.custom.echo", "agents.custom.schema-null"], rows: [12] },
    async (t) => {
      const input_schema = {
        type: "object",
        title: "Order",
        properties: { id: { anyOf: [{ type: "string" }, { type: "integer" }] } },
        required: ["id"],
        additionalProperties: false,
        $defs: { unused: { type: "string", examples: ["\u{1F9EA}"] } },
      };
      const tools = [
        custom("order", { input_schema }),
        custom("nulls", { input_schema: { type: "object", properties: null, required: null } }),
      ];
      assert.deepEqual((await agentWith(t, { tools })).tools, tools);
    },
  ),

  scenario(
    "the name of a custom tool is plain, distinct, and not one of the platform's",
    {
      verifies: ["agents.custom.name", "agents.custom.distinct", "agents.custom.reserved"],
      rows: [13],
    },
    async (t) => {
      for (const name of ["a", "A-z_09", "n".repeat(128), "mcp_x", "Bash"]) {
        await agentWith(t, { tools: [custom(name)] });
      }
      for (const name of ["", "a b", "a.b", "é", "n".repeat(129), "mcp__x", ...NAMES]) {
        await noAgentWith(t, { tools: [custom(name)] }, /tools\.0\.name/);
      }
      await noAgentWith(t, { tools: [custom("twice"), custom("twice")] }, /twice/);
      await agentWith(t, { tools: [custom("twice"), custom("Twice")] });
    },
  ),

  scenario(
    "a custom tool needs all its fields",
    { verifies: ["agents.custom.required"], rows: [13] },
    async (t) => {
      for (const field of ["name", "description", "input_schema"]) {
        const says = new RegExp(`tools\\.0\\.${field}`);
        await noAgentWith(t, { tools: [custom("tool", { [field]: undefined })] }, says);
      }
      await noAgentWith(t, { tools: [custom("tool", { strict: true })] }, /strict/);
    },
  ),

  scenario(
    "a custom tool's schema is of one object, without references",
    {
      verifies: [
        "agents.custom.schema-object",
        "agents.custom.schema-reference",
        "agents.custom.schema-combined",
        "agents.custom.schema-names",
      ],
      rows: [13],
    },
    async (t) => {
      const withSchema = (schema: object) => ({
        tools: [custom("tool", { input_schema: { type: "object", ...schema } })],
      });
      const says = /tools\.0\.input_schema/;
      await noAgentWith(t, withSchema({ type: "string" }), says);
      await noAgentWith(t, withSchema({ type: undefined }), says);
      await noAgentWith(t, withSchema({ properties: { a: { $ref: "#/$defs/a" } } }), says);
      await agentWith(t, withSchema({ properties: { $ref: { type: "string" } } }));
      for (const key of ["oneOf", "anyOf", "allOf"]) {
        await noAgentWith(t, withSchema({ [key]: [{ required: ["a"] }] }), says);
        await agentWith(t, withSchema({ properties: { a: { [key]: [{ type: "string" }] } } }));
      }
      const named = (name: string) => withSchema({ properties: { [name]: { type: "string" } } });
      await agentWith(t, named("n".repeat(64)));
      await noAgentWith(t, named("n".repeat(65)), says);
      await noAgentWith(t, named(""), says);
    },
  ),

  scenario(
    "an agent has at most 256 tools across all toolsets",
    { verifies: ["agents.tools.max", "agents.quota.tools"], rows: [13] },
    async (t) => {
      const customs = (count: number) => many(count, (index) => custom(`tool-${index}`));
      assert.equal((await agentWith(t, { tools: customs(256) })).tools.length, 256);
      await noAgentWith(t, { tools: customs(257) }, /tools/);
      const { mcp_servers, tools } = connected("one");
      const configs = many(256 - NAMES.length, (index) => ({ name: `tool-${index}` }));
      const full = [{ type: TOOLSET }, { ...tools[0], configs }];
      await agentWith(t, { mcp_servers, tools: full });
      await noAgentWith(t, { mcp_servers, tools: [...full, custom("one-more")] }, /tools/);
    },
  ),
];
