import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { agentWith, many, noAgentWith, notUpdated, updated } from "../support/agents.ts";
import { assertHas, refused } from "../support/expect.ts";
import { type Agent, newAgent } from "../support/fixtures.ts";
import type { Target } from "../target.ts";

function coordinator(...agents: unknown[]) {
  return { multiagent: { type: "coordinator", agents } };
}

function reference({ id, version }: Agent) {
  return { type: "agent", id, version };
}

const SELF = { type: "self" };
const advisor = (t: Target) => ({ type: "advisor", model: t.model });

/** Rosters of type `coordinator`; for `multiagent_20261001` see `multiagent-parts.ts`. */
export const multiagent: readonly Scenario[] = [
  scenario(
    "a roster is resolved to versions, whatever its form, its advisor last",
    {
      verifies: [
        "multiagent.coordinator.forms",
        "multiagent.coordinator.resolved",
        "multiagent.coordinator.advisor",
      ],
      rows: [21],
    },
    async (t) => {
      const [one, two, three] = [await newAgent(t), await newAgent(t), await newAgent(t)];
      const latest = await updated(t, three, { system: "newer" });
      const unpinned = { type: "agent", id: two.id };
      const made = await agentWith(
        t,
        coordinator(one.id, advisor(t), SELF, unpinned, reference(three)),
      );
      assert.equal(latest.version, 2);
      assert.deepEqual(made.multiagent, {
        type: "coordinator",
        agents: [
          reference(one),
          { type: "agent", id: made.id, version: 1 },
          reference(two),
          reference(three),
          advisor(t),
        ],
      });
      assert.deepEqual(await t.client.beta.agents.retrieve(made.id), made);
    },
  ),

  scenario(
    "a roster is pinned when it is saved, but follows the agent itself",
    {
      verifies: [
        "multiagent.coordinator.pinned",
        "multiagent.coordinator.self-version",
        "multiagent.coordinator.self-old",
      ],
      rows: [21],
    },
    async (t) => {
      const one = await newAgent(t);
      const made = await agentWith(t, coordinator(one.id, SELF));
      await updated(t, one, { system: "newer" });
      const renamed = await updated(t, made, { name: "renamed" });
      const expected = (version: number) =>
        coordinator(reference(one), { ...reference(made), version });
      assertHas(renamed, expected(2));
      assertHas(await t.client.beta.agents.retrieve(made.id, { version: 1 }), expected(1));
      const saved = await updated(t, made, coordinator(one.id, SELF));
      assertHas(saved, {
        version: 3,
        ...coordinator({ ...reference(one), version: 2 }, { ...reference(made), version: 3 }),
      });
      const first = await newAgent(t);
      await updated(t, first, { system: "newer" });
      const old = coordinator(reference(first), one.id);
      assertHas(await updated(t, first, old), {
        version: 3,
        multiagent: { agents: [reference(first), { id: one.id, version: 2 }] },
      });
      assertHas(await updated(t, first, { system: "newest" }), {
        version: 4,
        multiagent: { agents: [reference(first), { id: one.id, version: 2 }] },
      });
    },
  ),

  scenario(
    "a roster has 1 to 20 entries of known forms",
    {
      verifies: [
        "multiagent.type",
        "multiagent.coordinator.min",
        "multiagent.coordinator.max",
        "multiagent.coordinator.entry",
        "multiagent.quota.roster",
      ],
      rows: [21],
    },
    async (t) => {
      const agents = await Promise.all(many(20, () => newAgent(t)));
      const ids = agents.map(({ id }) => id);
      assertHas(await agentWith(t, coordinator(...ids)), coordinator(...agents.map(reference)));
      await noAgentWith(t, coordinator(...ids, SELF), /multiagent\.agents/);
      await noAgentWith(t, coordinator(), /multiagent\.agents/);
      await noAgentWith(t, coordinator({ type: "human" }), /multiagent\.agents\.0/);
      await noAgentWith(t, coordinator(7), /multiagent\.agents\.0/);
      await noAgentWith(t, coordinator({ ...SELF, id: ids[0] }), /multiagent\.agents\.0/);
      const [first] = agents;
      assert.ok(first !== undefined);
      await noAgentWith(t, coordinator({ ...reference(first), version: 0 }), /version/);
      await noAgentWith(t, { multiagent: { type: "swarm", agents: ids } }, /multiagent/);
    },
  ),

  scenario(
    "the agents of a roster are distinct after resolution",
    {
      verifies: ["multiagent.coordinator.distinct", "multiagent.coordinator.self"],
      rows: [21],
    },
    async (t) => {
      const one = await newAgent(t);
      const second = await updated(t, one, { system: "newer" });
      await noAgentWith(t, coordinator(one.id, one.id), /multiagent/);
      await noAgentWith(t, coordinator(one.id, reference(second)), /multiagent/);
      await noAgentWith(t, coordinator(reference(one), reference(second)), /multiagent/);
      await noAgentWith(t, coordinator(SELF, SELF), /multiagent/);
      const made = await agentWith(t, coordinator(one.id, SELF));
      await notUpdated(t, made, coordinator(SELF, made.id), /multiagent/);
      assertHas(await updated(t, made, coordinator(made.id)), {
        multiagent: { agents: [{ id: made.id, version: 2 }] },
      });
    },
  ),

  scenario(
    "a roster has at most one advisor, with a model, and its name is taken",
    {
      verifies: [
        "multiagent.coordinator.advisor-once",
        "multiagent.coordinator.advisor-model",
        "multiagent.coordinator.advisor-name",
      ],
      rows: [21],
    },
    async (t) => {
      const alone = await agentWith(t, coordinator(advisor(t)));
      assert.deepEqual(alone.multiagent, coordinator(advisor(t)).multiagent);
      await noAgentWith(t, coordinator(advisor(t), advisor(t)), /advisor/);
      await noAgentWith(t, coordinator({ type: "advisor" }), /multiagent/);
      await noAgentWith(t, coordinator({ type: "advisor", model: "" }), /multiagent/);
      const named = await newAgent(t, { name: "anthropic.advisor" });
      await agentWith(t, coordinator(named.id));
      await noAgentWith(t, coordinator(named.id, advisor(t)), /anthropic\.advisor/);
      const own = { name: "anthropic.advisor", ...coordinator(SELF, advisor(t)) };
      await noAgentWith(t, own, /anthropic\.advisor/);
    },
  ),

  scenario(
    "the agents of a roster exist, are not archived, and delegate no further",
    {
      verifies: [
        "multiagent.coordinator.exists",
        "multiagent.coordinator.unarchived",
        "multiagent.coordinator.depth",
      ],
      rows: [21],
    },
    async (t) => {
      const missing = { status: 404, type: "not_found_error", says: /multiagent/ };
      const one = await newAgent(t);
      await refused(agentWith(t, coordinator("agent_of_nobody")), missing);
      await refused(agentWith(t, coordinator({ ...reference(one), version: 2 })), missing);
      const made = await agentWith(t, coordinator(one.id));
      await noAgentWith(t, coordinator(made.id), /multiagent/);
      const inner = await agentWith(t, { multiagent: { type: "multiagent_20261001" } });
      await noAgentWith(t, coordinator(inner.id), /multiagent/);
      await updated(t, inner, { multiagent: null });
      await agentWith(t, coordinator(inner.id));
      await noAgentWith(t, coordinator({ ...reference(inner), version: 1 }), /multiagent/);
      await t.client.beta.agents.archive(one.id);
      await noAgentWith(t, coordinator(one.id), /archived/);
      await noAgentWith(t, coordinator(reference(one)), /archived/);
    },
  ),

  scenario(
    "an agent of another workspace is not there for a roster",
    { verifies: ["multiagent.coordinator.workspace"], rows: [21], needs: ["other-workspace"] },
    async (t) => {
      const { id } = await newAgent(t);
      const stranger = t.clientWith({ apiKey: t.key("other-workspace") });
      const params = { name: "thief", model: t.model, ...coordinator(id) };
      const create = stranger.beta.agents.create(params as never);
      await refused(create, { status: 404, type: "not_found_error" });
    },
  ),
];
