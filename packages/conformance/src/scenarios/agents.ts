import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { agentWith, connected, many, noAgentWith, notUpdated, pairs } from "../support/agents.ts";
import { assertHas, assertTime } from "../support/expect.ts";

/** Making an agent: fields, defaults, limits. */
export const agents: readonly Scenario[] = [
  scenario(
    "a minimal agent has every default filled in",
    {
      verifies: [
        "agents.object.type",
        "agents.object.times",
        "agents.object.nulls",
        "agents.object.lists",
        "agents.object.metadata",
        "agents.object.identity",
        "agents.object.nullable-keys",
        "agents.create.version",
        "agents.model.string",
        "agents.model.effort-default",
        "agents.model.speed-default",
      ],
      rows: [11],
    },
    async (t) => {
      const agent = await t.client.beta.agents.create({ name: "minimal", model: t.model });
      const { id, created_at, updated_at, model, ...rest } = agent;
      assert.ok(id.length > 0);
      assertTime(created_at);
      assertTime(updated_at);
      assert.equal(model.id, t.model);
      assert.ok(model.effort !== undefined, "model.effort is absent");
      assert.equal(model.speed, "standard");
      assert.equal("inference_geo" in model, false);
      assert.deepEqual(rest, {
        type: "agent",
        name: "minimal",
        version: 1,
        description: null,
        system: null,
        metadata: {},
        tools: [],
        mcp_servers: [],
        skills: [],
        multiagent: null,
        execution_identity: { type: "service_account" },
        archived_at: null,
      });
    },
  ),

  scenario(
    "what a full agent was made of comes back",
    {
      verifies: ["agents.create.echo", "agents.create.unicode", "agents.mcp.echo"],
      rows: [12],
    },
    async (t) => {
      const fields = {
        name: t.unique("Müller 🧪 工具"),
        description: "Was es tut: \u{1F9EA}\tund\nmehr",
        system: "Du bist …\r\n\u0001\u2028",
        metadata: { team: "ops", ключ: "значение", empty: "" },
        ...connected("tracker"),
      };
      const made = await agentWith(t, fields);
      const { tools, ...same } = fields;
      assertHas(made, same);
      assert.equal(made.tools.length, tools.length);
      assert.deepEqual(await t.client.beta.agents.retrieve(made.id), made);
    },
  ),

  scenario(
    "an agent needs a name and a model, and has no unknown fields",
    {
      verifies: [
        "agents.create.name-required",
        "agents.create.model-required",
        "agents.create.unknown-field",
        "agents.name.min",
        "agents.name.max",
      ],
      rows: [13],
    },
    async (t) => {
      await noAgentWith(t, { name: undefined }, /name/);
      await noAgentWith(t, { name: null }, /name/);
      await noAgentWith(t, { model: undefined }, /model/);
      await noAgentWith(t, { model: null }, /model/);
      await noAgentWith(t, { systm: "typo" }, /systm/);
      await noAgentWith(t, { name: "" }, /name/);
      await noAgentWith(t, { name: "n".repeat(257) }, /name/);
      assert.equal((await agentWith(t, { name: "n".repeat(256) })).name.length, 256);
      assert.equal((await agentWith(t, { name: "n" })).name, "n");
    },
  ),

  scenario(
    "description and system have their limits, and empty ones are null",
    {
      verifies: [
        "agents.description.max",
        "agents.description.empty",
        "agents.system.max",
        "agents.system.empty",
      ],
      rows: [13],
    },
    async (t) => {
      const longest = { description: "d".repeat(2048), system: "s".repeat(100_000) };
      assertHas(await agentWith(t, longest), longest);
      await noAgentWith(t, { description: "d".repeat(2049) }, /description/);
      await noAgentWith(t, { system: "s".repeat(100_001) }, /system/);
      const empty = await agentWith(t, { description: "", system: "" });
      assertHas(empty, { description: null, system: null });
      const nulls = await agentWith(t, { description: null, system: null });
      assertHas(nulls, { description: null, system: null });
    },
  ),

  scenario(
    "a model is a string or an object",
    {
      verifies: ["agents.model.object", "agents.model.id", "agents.model.unknown-field"],
      rows: [11],
    },
    async (t) => {
      assertHas(await agentWith(t, { model: { id: t.model } }), { model: { id: t.model } });
      await noAgentWith(t, { model: "" }, /model/);
      await noAgentWith(t, { model: { id: "" } }, /model\.id/);
      await noAgentWith(t, { model: { effort: "high" } }, /model\.id/);
      await noAgentWith(t, { model: { id: t.model, temperature: 1 } }, /temperature/);
    },
  ),

  scenario(
    "an effort is one of five, in either form",
    {
      verifies: [
        "agents.model.effort-string",
        "agents.model.effort-object",
        "agents.model.effort-levels",
        "agents.model.effort-unknown",
        "agents.model.effort-default",
      ],
      rows: [11],
    },
    async (t) => {
      const levels = ["low", "medium", "high", "xhigh", "max"] as const;
      for (const level of levels) {
        const text = await agentWith(t, { model: { id: t.model, effort: level } });
        assert.deepEqual(text.model.effort, { type: level });
      }
      const object = await agentWith(t, { model: { id: t.model, effort: { type: "low" } } });
      assert.deepEqual(object.model.effort, { type: "low" });
      const unset = await agentWith(t, { model: { id: t.model, effort: null } });
      assert.ok(unset.model.effort !== undefined);
      await noAgentWith(t, { model: { id: t.model, effort: "extreme" } }, /effort/);
      await noAgentWith(t, { model: { id: t.model, effort: { type: "extreme" } } }, /effort/);
    },
  ),

  scenario(
    "speed and inference_geo come back as they were sent",
    {
      verifies: ["agents.model.speed-default", "agents.model.speed-unknown", "agents.model.geo"],
    },
    async (t) => {
      const sent = await agentWith(t, {
        model: { id: t.model, speed: "standard", inference_geo: "us" },
      });
      assertHas(sent.model, { speed: "standard", inference_geo: "us" });
      const unset = await agentWith(t, {
        model: { id: t.model, speed: null, inference_geo: null },
      });
      assert.equal(unset.model.speed, "standard");
      assert.equal("inference_geo" in unset.model, false);
      await noAgentWith(t, { model: { id: t.model, speed: "slow" } }, /speed/);
    },
  ),

  scenario(
    "a speed that the model does not have is refused, on create and on update",
    { verifies: ["agents.model.speed-combination"], rows: [11], needs: ["scripted-model"] },
    async (t) => {
      const fast = { model: { id: "offline/script", speed: "fast" } };
      await noAgentWith(t, fast, /model\.speed/);
      const agent = await agentWith(t, { model: { ...fast.model, speed: "standard" } });
      await notUpdated(t, agent, fast, /model\.speed/);
      const unknown = { model: { ...fast.model, id: "a-model-of-some-api" } };
      assertHas(await agentWith(t, unknown), unknown);
    },
  ),

  scenario(
    "metadata is 16 pairs of short strings",
    {
      verifies: [
        "agents.metadata.pairs",
        "agents.metadata.key",
        "agents.metadata.value",
        "agents.metadata.strings",
        "agents.quota.metadata",
      ],
      rows: [13],
    },
    async (t) => {
      const most = { ...pairs(15), ["k".repeat(64)]: "v".repeat(512) };
      assert.deepEqual((await agentWith(t, { metadata: most })).metadata, most);
      await noAgentWith(t, { metadata: pairs(17) }, /metadata/);
      await noAgentWith(t, { metadata: { ["k".repeat(65)]: "v" } }, /metadata/);
      await noAgentWith(t, { metadata: { "": "v" } }, /metadata/);
      await noAgentWith(t, { metadata: { k: "v".repeat(513) } }, /metadata\.k/);
      await noAgentWith(t, { metadata: { k: 1 } }, /metadata\.k/);
      await noAgentWith(t, { metadata: { k: null } }, /metadata\.k/);
    },
  ),

  scenario(
    "an agent runs as the service account, unless it names a role",
    {
      verifies: [
        "agents.identity.default",
        "agents.identity.role",
        "agents.identity.role-max",
        "agents.identity.role-required",
        "agents.identity.unknown",
      ],
      rows: [11],
    },
    async (t) => {
      const service = { type: "service_account" };
      for (const execution_identity of [undefined, null, service]) {
        const agent = await agentWith(t, { execution_identity });
        assert.deepEqual(agent.execution_identity, service);
      }
      const role = (role_arn?: string) => ({ execution_identity: { type: "aws_role", role_arn } });
      const longest = role("a".repeat(2048));
      assertHas(await agentWith(t, longest), longest);
      await noAgentWith(t, role("a".repeat(2049)), /role_arn/);
      await noAgentWith(t, role(), /role_arn/);
      await noAgentWith(t, { execution_identity: { type: "root" } }, /execution_identity/);
    },
  ),

  scenario(
    "MCP servers are URLs with distinct names, each used by a toolset",
    {
      verifies: [
        "agents.mcp.type",
        "agents.mcp.name",
        "agents.mcp.distinct",
        "agents.mcp.url",
        "agents.mcp.url-max",
        "agents.mcp.unreferenced",
      ],
      rows: [13],
    },
    async (t) => {
      const { mcp_servers, tools } = connected("one");
      await noAgentWith(t, { mcp_servers }, /mcp_servers/);
      await noAgentWith(t, { mcp_servers: [...mcp_servers, ...mcp_servers], tools }, /one/);
      await noAgentWith(t, connected("one", { type: "stdio" }), /mcp_servers\.0/);
      await noAgentWith(t, connected(""), /name/);
      await noAgentWith(t, connected("n".repeat(256)), /name/);
      await agentWith(t, connected("n".repeat(255)));
      for (const url of ["", "mcp.example.com", "ftp://h/", "https://", "https://a b/"]) {
        await noAgentWith(t, connected("one", { url }), /mcp_servers\.0\.url/);
      }
      for (const url of ["http://h", "https://h:8443/p?q=1", `https://h/${"p".repeat(2038)}`]) {
        assertHas(await agentWith(t, connected("one", { url })), { mcp_servers: [{ url }] });
      }
      const tooLong = connected("one", { url: `https://h/${"p".repeat(2039)}` });
      await noAgentWith(t, tooLong, /mcp_servers\.0\.url/);
    },
  ),

  scenario(
    "an agent has at most 20 MCP servers",
    { verifies: ["agents.mcp.max", "agents.quota.mcp-servers"], rows: [13] },
    async (t) => {
      const servers = (count: number) => {
        const all = many(count, (index) => connected(`server-${index}`));
        return {
          mcp_servers: all.flatMap(({ mcp_servers }) => mcp_servers),
          tools: all.flatMap(({ tools }) => tools),
        };
      };
      assert.equal((await agentWith(t, servers(20))).mcp_servers.length, 20);
      await noAgentWith(t, servers(21), /mcp_servers/);
    },
  ),
];
