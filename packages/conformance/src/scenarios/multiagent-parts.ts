import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { agentWith, many, noAgentWith, notUpdated, updated } from "../support/agents.ts";
import { assertHas, refused } from "../support/expect.ts";
import { type Agent, newAgent } from "../support/fixtures.ts";

const TYPE = "multiagent_20261001";
const ON = { type: "enabled" };
const OFF = { type: "disabled" };
const FRESH = { type: "enabled", inline_agents: ON, predefined_agents: [] };

function parts(fields: object = {}) {
  return { multiagent: { type: TYPE, ...fields } };
}

function reference({ id, version }: Agent) {
  return { type: "agent", id, version };
}

/** `multiagent_20261001`: its three members, and how updates are merged into them. */
export const multiagentParts: readonly Scenario[] = [
  scenario(
    "subagents and workflows are enabled by default, the advisor is not",
    {
      verifies: [
        "multiagent.defaults",
        "multiagent.members",
        "multiagent.inline-default",
        "multiagent.null-default",
        "multiagent.predefined-null",
      ],
      rows: [22],
    },
    async (t) => {
      const expected = { type: TYPE, advisor: OFF, subagents: FRESH, workflows: FRESH };
      const nulls = { ...ON, inline_agents: null, predefined_agents: null };
      const forms = [
        {},
        { advisor: null, subagents: null, workflows: null },
        { subagents: ON, workflows: { ...ON, predefined_agents: [] } },
        { subagents: nulls, workflows: nulls },
      ];
      for (const form of forms) {
        assert.deepEqual((await agentWith(t, parts(form))).multiagent, expected);
      }
    },
  ),

  scenario(
    "each member can be disabled or set up alone",
    {
      verifies: [
        "multiagent.disabled",
        "multiagent.advisor",
        "multiagent.predefined-resolved",
        "multiagent.lists-independent",
        "multiagent.predefined-forms",
      ],
      rows: [22],
    },
    async (t) => {
      const all = { advisor: OFF, subagents: OFF, workflows: OFF };
      assert.deepEqual((await agentWith(t, parts(all))).multiagent, { type: TYPE, ...all });
      const [one, two] = [await newAgent(t), await newAgent(t)];
      const subagents = { ...ON, predefined_agents: [one.id, { type: "self" }, reference(two)] };
      const workflows = { ...ON, inline_agents: OFF, predefined_agents: [one.id] };
      const advisor = { ...ON, model: t.model };
      const made = await agentWith(t, parts({ advisor, subagents, workflows }));
      assert.deepEqual(made.multiagent, {
        type: TYPE,
        advisor,
        subagents: {
          ...FRESH,
          predefined_agents: [
            reference(one),
            { type: "agent", id: made.id, version: 1 },
            reference(two),
          ],
        },
        workflows: { ...FRESH, inline_agents: OFF, predefined_agents: [reference(one)] },
      });
      await noAgentWith(t, parts({ advisor: ON }), /advisor\.model/);
      await noAgentWith(t, parts({ advisor: { ...OFF, model: t.model } }), /advisor/);
      await noAgentWith(t, parts({ workflows: { ...OFF, predefined_agents: [] } }), /workflows/);
      const consulting = { ...ON, predefined_agents: [{ type: "advisor", model: t.model }] };
      await noAgentWith(t, parts({ subagents: consulting }), /subagents\.predefined_agents/);
    },
  ),

  scenario(
    "predefined agents follow the rules of a roster",
    {
      verifies: [
        "multiagent.predefined-max",
        "multiagent.quota.predefined",
        "multiagent.predefined-rules",
        "multiagent.inline-disabled",
        "multiagent.typed",
      ],
      rows: [22],
    },
    async (t) => {
      const agents = await Promise.all(many(21, () => newAgent(t)));
      const ids = agents.map(({ id }) => id);
      const both = (predefined_agents: unknown[]) =>
        parts({ subagents: { ...ON, predefined_agents }, workflows: { ...ON, predefined_agents } });
      await agentWith(t, both(ids.slice(0, 20)));
      await noAgentWith(t, both(ids), /predefined_agents/);
      await noAgentWith(t, both([ids[0], ids[0]]), /predefined_agents/);
      await refused(agentWith(t, both(["agent_of_nobody"])), { status: 404, says: /multiagent/ });
      const nested = await agentWith(t, both([ids[1]]));
      await noAgentWith(t, both([nested.id]), /multiagent/);
      await t.client.beta.agents.archive(ids[20] ?? "");
      await noAgentWith(t, both([ids[20]]), /archived/);
      for (const member of ["subagents", "workflows"]) {
        const alone = { ...ON, inline_agents: OFF };
        await noAgentWith(t, parts({ [member]: alone }), new RegExp(member));
        await agentWith(t, parts({ [member]: { ...alone, predefined_agents: [ids[1]] } }));
        await noAgentWith(t, parts({ [member]: {} }), new RegExp(`${member}`));
        await noAgentWith(t, parts({ [member]: { ...ON, inline_agents: {} } }), /inline_agents/);
      }
      await noAgentWith(t, parts({ advisor: {} }), /advisor/);
      await noAgentWith(t, { multiagent: {} }, /multiagent/);
    },
  ),

  scenario(
    "an update is merged level by level into what is stored",
    {
      verifies: [
        "multiagent.merge.keep",
        "multiagent.merge.null",
        "multiagent.merge.type",
        "multiagent.merge.list",
        "multiagent.merge.nested",
        "multiagent.merge.model",
        "multiagent.merge.no-change",
        "multiagent.merge.gotcha",
        "multiagent.typed",
      ],
      rows: [23],
    },
    async (t) => {
      const [one, two] = [await newAgent(t), await newAgent(t)];
      const advisor = { ...ON, model: t.model };
      const subagents = { ...ON, inline_agents: OFF, predefined_agents: [reference(one)] };
      const stored = { advisor, subagents, workflows: OFF };
      const agent = await agentWith(t, parts(stored));
      const after = async (sent: object, expected: object) => {
        const before = await t.client.beta.agents.retrieve(agent.id);
        const result = await updated(t, agent, parts(sent));
        assert.deepEqual(result.multiagent, { type: TYPE, ...expected });
        return result.version - before.version;
      };
      assert.equal(await after({}, stored), 0);
      assert.equal(await after({ subagents: ON }, stored), 0);
      assert.equal(await after({ advisor: null }, { ...stored, advisor: OFF }), 1);
      await after({ advisor }, stored);
      await after({ workflows: null }, { ...stored, workflows: FRESH });
      await after({ workflows: OFF }, stored);
      await after({ workflows: ON }, { ...stored, workflows: FRESH });
      await after({ workflows: OFF }, stored);
      const inline = { ...subagents, inline_agents: ON };
      await after({ subagents: { ...ON, inline_agents: ON } }, { ...stored, subagents: inline });
      const listed = { ...inline, predefined_agents: [reference(two)] };
      const list = { ...ON, predefined_agents: [two.id] };
      await after({ subagents: list }, { ...stored, subagents: listed });
      const none = { ...ON, predefined_agents: null };
      await after({ subagents: none }, { ...stored, subagents: FRESH });
      await after({ subagents: OFF }, { ...stored, subagents: OFF });
      await after({ subagents: ON }, { ...stored, subagents: FRESH });
      await notUpdated(t, agent, parts({ advisor: ON }), /advisor\.model/);
      await notUpdated(t, agent, parts({ subagents: { inline_agents: ON } }), /subagents/);
      await notUpdated(t, agent, { multiagent: { advisor } }, /multiagent/);
    },
  ),

  scenario(
    "what a merge results in is validated",
    { verifies: ["multiagent.merge.validated"], rows: [23] },
    async (t) => {
      const [one, two] = [await newAgent(t), await newAgent(t)];
      const agent = await agentWith(
        t,
        parts({ subagents: { ...ON, predefined_agents: [one.id] } }),
      );
      const off = { ...ON, inline_agents: OFF };
      const closed = await updated(t, agent, parts({ subagents: off }));
      assertHas(closed.multiagent, { subagents: { ...off, predefined_agents: [reference(one)] } });
      const nobody = parts({ subagents: { ...ON, predefined_agents: [] } });
      await notUpdated(t, agent, nobody, /subagents/);
      await updated(t, agent, parts({ subagents: { ...ON, predefined_agents: [two.id] } }));
      const open = { ...ON, inline_agents: ON, predefined_agents: null };
      assertHas(await updated(t, agent, parts({ subagents: open })), {
        multiagent: { subagents: FRESH },
      });
      assert.deepEqual((await t.client.beta.agents.retrieve(agent.id)).multiagent, {
        type: TYPE,
        advisor: OFF,
        subagents: FRESH,
        workflows: FRESH,
      });
    },
  ),

  scenario(
    "one type of multiagent replaces the other whole",
    { verifies: ["multiagent.merge.forms"], rows: [23] },
    async (t) => {
      const one = await newAgent(t);
      const agent = await agentWith(t, parts({ advisor: { ...ON, model: t.model } }));
      const roster = { multiagent: { type: "coordinator", agents: [reference(one)] } };
      assert.deepEqual((await updated(t, agent, roster)).multiagent, roster.multiagent);
      const back = await updated(t, agent, parts({ workflows: OFF }));
      const expected = { type: TYPE, advisor: OFF, subagents: FRESH, workflows: OFF };
      assert.deepEqual(back.multiagent, expected);
    },
  ),
];
