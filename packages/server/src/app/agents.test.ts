import { type Agent, AgentCreateParams, AgentUpdateParams } from "@drover/api";
import { describe, expect, test } from "vitest";
import { ManualClock } from "../hands/fake/manual-clock.ts";
import { newId } from "../lib/new-id.ts";
import { openMemoryStore } from "../store/sqlite/memory-store.testsuite.ts";
import { createAgents } from "./agents.ts";
import { createModels } from "./models.ts";
import { createCursors } from "./pagination.ts";
import type { Principal } from "./principal.ts";
import { createSkillReferences } from "./skill-references.ts";

const principal: Principal = { workspaceId: "wrkspc_a", keyId: "apikey_a", role: "admin" };
const stranger: Principal = { ...principal, workspaceId: "wrkspc_b" };

function world() {
  const clock = new ManualClock();
  const store = openMemoryStore({ clock, announcements: { publish: () => undefined } });
  const cursors = createCursors({ key: new Uint8Array(32) });
  const agents = createAgents({
    store,
    models: createModels([]),
    cursors,
    newId,
    skills: createSkillReferences([]),
  });
  const create = (fields: object = {}, who = principal) =>
    store.write((tx) =>
      agents.create(tx, who, AgentCreateParams.parse({ name: "a", model: "m", ...fields })),
    );
  const update = (id: string, fields: object, who = principal) =>
    store.write((tx) => agents.update(tx, who, id, AgentUpdateParams.parse(fields)));
  const archive = (id: string, who = principal) => store.write((tx) => agents.archive(tx, who, id));
  return { clock, agents, create, update, archive };
}

function ids(page: { data: Agent[] }): string[] {
  return page.data.map((agent) => agent.id);
}

test("an agent that is made can be read, from its own workspace only", async () => {
  const { agents, create } = world();
  const agent = await create({ metadata: { k: "v" }, tools: [{ type: "agent_toolset_20260401" }] });
  expect(agent).toMatchObject({ type: "agent", version: 1, archived_at: null });
  expect(await agents.retrieve("wrkspc_a", agent.id)).toEqual(agent);
  await expect(agents.retrieve("wrkspc_b", agent.id)).rejects.toThrow(
    `there is no agent ${agent.id}`,
  );
  await expect(agents.retrieve("wrkspc_a", agent.id, 2)).rejects.toThrow("version 2");
  expect(await agents.list("wrkspc_b", {})).toEqual({ data: [], next_page: null });
});

describe("an update", () => {
  test("makes a version, and the earlier one stays as it was", async () => {
    const { agents, clock, create, update } = world();
    const first = await create({ system: "one" });
    await clock.advance(1000);
    const second = await update(first.id, { system: "two", version: 1 });
    expect(second).toEqual({
      ...first,
      version: 2,
      system: "two",
      updated_at: new Date(clock.now()).toISOString(),
    });
    expect(await agents.retrieve("wrkspc_a", first.id)).toEqual(second);
    expect(await agents.retrieve("wrkspc_a", first.id, 1)).toEqual(first);
  });

  test("that changes nothing makes no version", async () => {
    const { clock, create, update } = world();
    const agent = await create({
      tools: [{ type: "agent_toolset_20260401", configs: [{ name: "bash" }] }],
      multiagent: { type: "coordinator", agents: [{ type: "self" }] },
      metadata: { a: "1" },
    });
    await clock.advance(1000);
    const same = await update(agent.id, {
      name: "a",
      model: { id: "m" },
      tools: [{ type: "agent_toolset_20260401", configs: [{ name: "bash", enabled: true }] }],
      multiagent: { type: "coordinator", agents: [{ type: "self" }] },
      metadata: { a: "1", b: null },
    });
    expect(same).toEqual(agent);
  });

  test("of a stale version is a conflict, even if nothing would change", async () => {
    const { create, update } = world();
    const { id } = await create();
    await update(id, { name: "b" });
    await expect(update(id, { name: "b", version: 1 })).rejects.toThrow(
      expect.objectContaining({
        type: "conflict_error",
        message: `version: agent ${id} is at version 2, not 1`,
      }),
    );
  });

  test("moves references of the agent to itself to the new version", async () => {
    const { create, update } = world();
    const { id } = await create({
      multiagent: { type: "coordinator", agents: [{ type: "self" }] },
    });
    const updated = await update(id, { name: "b" });
    expect(updated.multiagent).toEqual({
      type: "coordinator",
      agents: [{ type: "agent", id, version: 2 }],
    });
  });

  test("of two at once, both take effect", async () => {
    const { create, update } = world();
    const { id } = await create();
    const updated = await Promise.all([update(id, { name: "b" }), update(id, { system: "s" })]);
    expect(updated.map((agent) => agent.version).sort()).toEqual([2, 3]);
    expect(updated.find((agent) => agent.version === 3)).toMatchObject({ name: "b", system: "s" });
  });

  test("is refused from another workspace, and once the agent is archived", async () => {
    const { create, update, archive } = world();
    const { id } = await create();
    await expect(update(id, { name: "b" }, stranger)).rejects.toThrow("there is no agent");
    await archive(id);
    await expect(update(id, { name: "b" })).rejects.toThrow("is archived and cannot be changed");
  });
});

test("archiving hides an agent from the list for good, and does so once", async () => {
  const { agents, clock, create, archive } = world();
  const { id } = await create();
  const archived = await archive(id);
  expect(archived.archived_at).toBe(new Date(clock.now()).toISOString());
  await clock.advance(1000);
  expect(await archive(id)).toEqual(archived);
  expect(ids(await agents.list("wrkspc_a", {}))).toEqual([]);
  expect(ids(await agents.list("wrkspc_a", { include_archived: true }))).toEqual([id]);
  await expect(archive(id, stranger)).rejects.toThrow("there is no agent");
});

test("the list is newest first, paged, and bounded by created_at on both sides", async () => {
  const { agents, clock, create } = world();
  const made: Agent[] = [];
  for (let i = 0; i < 5; i++) {
    made.unshift(await create());
    await clock.advance(1000);
  }
  const first = await agents.list("wrkspc_a", { limit: 3 });
  const second = await agents.list("wrkspc_a", { limit: 3, page: first.next_page ?? "" });
  expect([...first.data, ...second.data]).toEqual(made);
  expect(second.next_page).toBeNull();
  const within = await agents.list("wrkspc_a", {
    "created_at[gte]": made[3]?.created_at,
    "created_at[lte]": made[1]?.created_at,
  });
  expect(within.data).toEqual(made.slice(1, 4));
});

test("versions are listed newest first, one full agent each", async () => {
  const { agents, create, update } = world();
  const { id } = await create();
  const third = await update(id, { name: "b" }).then(() => update(id, { name: "c" }));
  const first = await agents.listVersions("wrkspc_a", id, { limit: 2 });
  const second = await agents.listVersions("wrkspc_a", id, {
    limit: 2,
    page: first.next_page ?? "",
  });
  expect(first.data.map((agent) => [agent.version, agent.name])).toEqual([
    [3, "c"],
    [2, "b"],
  ]);
  expect(first.data[0]).toEqual(third);
  expect(second).toEqual({ data: [await agents.retrieve("wrkspc_a", id, 1)], next_page: null });
  await expect(agents.listVersions("wrkspc_b", id, {})).rejects.toThrow("there is no agent");
  const { next_page: page } = await agents.list("wrkspc_a", { limit: 1 });
  expect(page).toBeNull();
});

test("a roster names agents of the own workspace that are not archived", async () => {
  const { create, update, archive } = world();
  const helper = await create();
  const foreign = await create({}, stranger);
  const roster = (agent: unknown) => ({ multiagent: { type: "coordinator", agents: [agent] } });
  const lead = await create(roster(helper.id));
  expect(lead.multiagent).toEqual({
    type: "coordinator",
    agents: [{ type: "agent", id: helper.id, version: 1 }],
  });
  await expect(create(roster(foreign.id))).rejects.toThrow("there is no agent");
  await expect(create(roster(lead.id))).rejects.toThrow("has multiagent itself");
  await archive(helper.id);
  await expect(create(roster(helper.id))).rejects.toThrow("is archived");
  const renamed = await update(lead.id, { name: "b" });
  expect(renamed.multiagent).toEqual(lead.multiagent);
});

test("a merge keeps the references that were there", async () => {
  const { create, update } = world();
  const helper = await create();
  const lead = await create({
    multiagent: {
      type: "multiagent_20261001",
      subagents: { type: "enabled", predefined_agents: [helper.id, { type: "self" }] },
    },
  });
  await update(helper.id, { name: "newer" });
  const merged = await update(lead.id, {
    multiagent: { type: "multiagent_20261001", workflows: { type: "disabled" } },
  });
  expect(merged.multiagent).toMatchObject({
    subagents: {
      predefined_agents: [
        { type: "agent", id: helper.id, version: 1 },
        { type: "agent", id: lead.id, version: 2 },
      ],
    },
    workflows: { type: "disabled" },
  });
});
