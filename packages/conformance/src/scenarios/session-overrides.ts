import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { assertHas, assertRefused } from "../support/expect.ts";
import { newAgent, newSession, sharedAgent, sharedEnvironment } from "../support/fixtures.ts";

const TOOLSET = { type: "agent_toolset_20260401" as const };

export const sessionOverrides: readonly Scenario[] = [
  scenario(
    "overrides change the agent for one session alone",
    {
      verifies: [
        "sessions.override.replaces",
        "sessions.override.inherits",
        "sessions.override.clears",
        "sessions.override.agent-untouched",
        "sessions.override.version",
        "sessions.override.effort",
      ],
      rows: [31],
    },
    async (t) => {
      const model = { id: t.model, effort: "low" as const };
      const agent = await newAgent(t, { system: "one", tools: [TOOLSET], model });
      const { id } = agent;
      const overridden = async (fields: object) => {
        const reference = { type: "agent_with_overrides" as const, id, ...fields };
        return (await newSession(t, { agent: reference })).agent;
      };
      const { metadata, created_at, updated_at, archived_at, ...own } = agent;
      assert.deepEqual(await overridden({}), own);
      assert.deepEqual(await overridden({ system: "mine" }), { ...own, system: "mine" });
      assert.deepEqual(await overridden({ system: null }), { ...own, system: null });
      assert.deepEqual(await overridden({ tools: [] }), { ...own, tools: [] });
      const other = await overridden({ model: { id: t.model, effort: "max", speed: "standard" } });
      assertHas(other.model, { id: t.model, effort: { type: "high" } });
      assert.deepEqual(await t.client.beta.agents.retrieve(id), agent);
      await t.client.beta.agents.update(id, { system: "two" });
      const old = await overridden({ version: 1, tools: null });
      assertHas(old, { version: 1, system: "one", tools: [] });
    },
  ),

  scenario(
    "overrides that leave the session without what it needs are refused",
    {
      verifies: [
        "sessions.override.model-null",
        "sessions.override.mcp-referenced",
        "sessions.override.system-length",
        "sessions.quota.system",
      ],
      rows: [31],
    },
    async (t) => {
      const { id } = await sharedAgent(t);
      const withOverrides = async (fields: object) => {
        const agent = { type: "agent_with_overrides", id, ...fields };
        const environment_id = (await sharedEnvironment(t)).id;
        return await t.request("POST", "/v1/sessions", { body: { agent, environment_id } });
      };
      assert.equal((await withOverrides({ model: t.model })).status, 200);
      const modelless = { status: 400, code: "agent_model_required" };
      assertRefused(await withOverrides({ model: null }), modelless);
      assert.equal((await withOverrides({ system: "s".repeat(100_000) })).status, 200);
      const long = await withOverrides({ system: "s".repeat(100_001) });
      assertRefused(long, { status: 400, says: /system/ });
      const connected = await newAgent(t, {
        mcp_servers: [{ type: "url", name: "docs", url: "https://mcp.example.com" }],
        tools: [{ type: "mcp_toolset", mcp_server_name: "docs" }],
      });
      const cleared = { id: connected.id, mcp_servers: [] };
      assertRefused(await withOverrides(cleared), { status: 400, says: /docs/ });
      assert.equal((await withOverrides({ ...cleared, tools: [] })).status, 200);
    },
  ),

  scenario(
    "skills need tools, so that only both can be cleared",
    { verifies: ["sessions.override.skills-need-tools"], rows: [31] },
    async (t) => {
      const name = t.unique("skill");
      const text = `---\nname: ${name}\ndescription: Says hello.\n---\nSay hello.\n`;
      const files = [new File([text], `${name}/SKILL.md`)];
      const skill = await t.client.beta.skills.create({ files });
      const skills = [{ type: "custom" as const, skill_id: skill.id }];
      const { id } = await newAgent(t, { tools: [TOOLSET], skills });
      const environment_id = (await sharedEnvironment(t)).id;
      const withOverrides = (fields: object) => {
        const agent = { type: "agent_with_overrides", id, ...fields };
        return t.request("POST", "/v1/sessions", { body: { agent, environment_id } });
      };
      assertRefused(await withOverrides({ tools: [] }), { status: 400, says: /skills/ });
      assert.equal((await withOverrides({ tools: [], skills: [] })).status, 200);
      assert.equal((await withOverrides({ skills: null })).status, 200);
    },
  ),
];
