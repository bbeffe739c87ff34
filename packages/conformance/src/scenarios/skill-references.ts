import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { agentWith, many, noAgentWith, updated } from "../support/agents.ts";
import { zipOf } from "../support/archives.ts";
import { accepted, all, assertRefused, refused } from "../support/expect.ts";
import { newAgent, newEnvironment, newSession } from "../support/fixtures.ts";
import { document, newSkill, newVersion } from "../support/skills.ts";
import { runTurn, script } from "../support/turns.ts";
import type { Target } from "../target.ts";

const TOOLSET = { type: "agent_toolset_20260401" as const };
const MISSING = { status: 404, type: "not_found_error" };

const custom = (skill_id: string, version?: string | null) => ({
  type: "custom" as const,
  skill_id,
  ...(version !== undefined && { version }),
});

async function noSuchSkill(t: Target, skill: object, says: RegExp): Promise<void> {
  await refused(agentWith(t, { skills: [skill] }), { ...MISSING, says });
}

/** Agents that have skills. */
export const skillReferences: readonly Scenario[] = [
  scenario(
    "an agent's skill is pinned to a version when it is sent, and stays so",
    {
      verifies: [
        "skills.agents.latest",
        "skills.agents.pinned",
        "skills.agents.kept",
        "skills.agents.version",
      ],
      rows: [12, 112],
    },
    async (t) => {
      const skill = await newSkill(t);
      const first = custom(skill.id, skill.latest_version_id);
      const second = custom(skill.id, (await newVersion(t, skill, "Second")).id);
      const older = await agentWith(t, { skills: [first] });
      assert.deepEqual(older.skills, [first]);
      const made = [];
      for (const version of [undefined, null, "latest", second.version]) {
        const agent = await agentWith(t, { skills: [custom(skill.id, version)] });
        assert.deepEqual(agent.skills, [second], `version ${version}`);
        made.push(agent);
      }
      await newVersion(t, skill, "Third");
      for (const { id } of made) {
        assert.deepEqual((await t.client.beta.agents.retrieve(id)).skills, [second]);
      }
    },
  ),

  scenario(
    "skills that there are not are refused by name",
    { verifies: ["skills.agents.unknown", "skills.agents.anthropic"], rows: [112] },
    async (t) => {
      const skill = await newSkill(t);
      const other = await newSkill(t);
      await agentWith(t, { skills: [custom(skill.id), custom(other.id)] });
      await noSuchSkill(t, custom("skill_of_nobody"), /skills\.0.*skill_of_nobody/);
      await noSuchSkill(t, custom(skill.id, "skver_of_nobody"), /skver_of_nobody/);
      await noSuchSkill(t, custom(skill.id, other.latest_version_id), /version/);
      await noSuchSkill(t, { type: "anthropic", skill_id: skill.id }, /skills\.0/);
      const installed = await all(t.client.beta.skills.list({ source: "anthropic" }));
      for (const skill_id of ["xlsx", "pptx", "docx", "pdf", "what-there-is-not"]) {
        if (installed.some(({ id }) => id === skill_id)) continue;
        await noSuchSkill(
          t,
          { type: "anthropic", skill_id },
          new RegExp(`skills\\.0.*${skill_id}`),
        );
      }
      await noAgentWith(t, { skills: [{ type: "plugin", skill_id: skill.id }] }, /skills/);
    },
  ),

  scenario(
    "an update replaces, clears or keeps an agent's skills",
    { verifies: ["skills.agents.update"], rows: [112] },
    async (t) => {
      const [one, two] = [await newSkill(t), await newSkill(t)];
      const pinned = (skill: typeof one) => custom(skill.id, skill.latest_version_id);
      const agent = await agentWith(t, { skills: [custom(one.id)] });
      const both = await updated(t, agent, { skills: [custom(two.id), custom(one.id)] });
      assert.deepEqual(both.skills, [pinned(two), pinned(one)]);
      assert.deepEqual((await updated(t, agent, { name: "b" })).skills, both.skills);
      assert.deepEqual((await updated(t, agent, { skills: [] })).skills, []);
      assert.deepEqual((await updated(t, agent, { skills: [custom(one.id)] })).skills, [
        pinned(one),
      ]);
      assert.deepEqual((await updated(t, agent, { skills: null })).skills, []);
      const missing = updated(t, agent, { skills: [custom("skill_of_nobody")] });
      await refused(missing, { ...MISSING, says: /skills\.0/ });
    },
  ),

  scenario(
    "an agent has at most 20 skills, each once",
    { verifies: ["skills.agents.max", "skills.agents.twice"] },
    async (t) => {
      const ids: string[] = [];
      for (let count = 0; count < 21; count += 1) ids.push((await newSkill(t)).id);
      const most = ids.slice(0, 20).map((id) => custom(id));
      assert.equal((await agentWith(t, { skills: most })).skills.length, 20);
      await noAgentWith(t, { skills: ids.map((id) => custom(id)) }, /skills/);
      const [id = ""] = ids;
      await noAgentWith(t, { skills: many(2, () => custom(id)) }, /skills\.1/);
    },
  ),

  scenario(
    "an agent keeps the name of a skill that is deleted",
    { verifies: ["skills.agents.deleted"] },
    async (t) => {
      const skill = await newSkill(t);
      const agent = await agentWith(t, { skills: [custom(skill.id)] });
      await t.client.beta.skills.delete(skill.id);
      const { skills } = await t.client.beta.agents.retrieve(agent.id);
      assert.deepEqual(skills, [custom(skill.id, skill.latest_version_id)]);
      assert.deepEqual((await updated(t, agent, { name: "renamed" })).skills, skills);
      await refused(updated(t, agent, { skills }), MISSING);
    },
  ),

  scenario(
    "skills that there are not are refused among a session's overrides",
    { verifies: ["skills.sessions.unknown"], rows: [31] },
    async (t) => {
      const { id } = await newAgent(t);
      const environment = (await newEnvironment(t)).id;
      const session = (skills: object[] | null) => {
        const agent = { type: "agent_with_overrides", id, skills } as const;
        return t.request("POST", "/v1/sessions", {
          body: { agent, environment_id: environment },
        });
      };
      for (const skill of [custom("skill_of_nobody"), { type: "anthropic", skill_id: "nothing" }]) {
        assertRefused(await session([skill]), { ...MISSING, says: /agent\.skills\.0/ });
      }
      accepted(await session([]));
      accepted(await session(null));
    },
  ),

  scenario(
    "a session's skills are read and run where they are mounted, and cannot be changed",
    {
      verifies: ["skills.sessions.prompt", "skills.sessions.scripts", "skills.sessions.read-only"],
      rows: [112],
      needs: ["scripted-model"],
    },
    async (t) => {
      const run = "#!/bin/sh\necho it says $1\n";
      const zip = zipOf([
        { name: "my-skill/SKILL.md", content: document("my-skill", "Says it.") },
        { name: "my-skill/run.sh", content: run, mode: 0o100755 },
      ]);
      const skill = await t.client.beta.skills.create({ files: [new File([zip], "s.zip")] });
      const agent = await newAgent(t, { tools: [TOOLSET], skills: [custom(skill.id)] });
      const { id, agent: snapshot } = await newSession(t, { agent: agent.id });
      assert.deepEqual(snapshot.skills, [custom(skill.id, skill.latest_version_id)]);
      const place = "/mnt/skills/my-skill";
      const events = await runTurn(
        t,
        id,
        script(
          [
            `- { tool: read, input: { file_path: ${place}/SKILL.md } }`,
            `- { tool: bash, input: { command: ${place}/run.sh hello } }`,
            `- { tool: write, input: { file_path: ${place}/SKILL.md, content: x } }`,
            `- { tool: bash, input: { command: rm -rf ${place}/run.sh && ls ${place}/run.sh } }`,
            "- say: done",
          ].join("\n"),
        ),
      );
      const results = events.flatMap((event) =>
        event.type === "agent.tool_result"
          ? [{ text: JSON.stringify(event.content), isError: event.is_error ?? false }]
          : [],
      );
      assert.match(results[0]?.text ?? "", /# How to/);
      assert.match(results[1]?.text ?? "", /it says hello/);
      assert.deepEqual(
        results.map(({ isError }) => isError),
        [false, false, true, true],
      );
    },
  ),

  scenario(
    "a session keeps its skills, and is made with what there is under names of their own",
    {
      verifies: ["skills.sessions.deleted", "skills.sessions.same-name"],
      rows: [112],
    },
    async (t) => {
      const [one, two] = [await newSkill(t), await newSkill(t)];
      const tools = [TOOLSET];
      const agent = await newAgent(t, { tools, skills: [custom(one.id)] });
      const { id } = await newSession(t, { agent: agent.id });
      const both = await newAgent(t, { tools, skills: [custom(one.id), custom(two.id)] });
      await refused(newSession(t, { agent: both.id }), { status: 400, says: /agent\.skills\.1/ });
      await t.client.beta.skills.delete(one.id);
      await refused(newSession(t, { agent: agent.id }), { ...MISSING, says: /agent\.skills\.0/ });
      const { agent: kept } = await t.client.beta.sessions.retrieve(id);
      assert.deepEqual(kept.skills, [custom(one.id, one.latest_version_id)]);
    },
  ),

  scenario(
    "a session that has skills keeps the tool that reads them",
    { verifies: ["skills.sessions.need-read", "sessions.update.skills-need-tools"], rows: [36] },
    async (t) => {
      const skill = await newSkill(t);
      const readOff = { ...TOOLSET, configs: [{ name: "read" as const, enabled: false }] };
      const bashOff = { ...TOOLSET, configs: [{ name: "bash" as const, enabled: false }] };
      const skills = [custom(skill.id)];
      for (const tools of [[], [readOff]]) {
        const agent = await newAgent(t, { tools, skills });
        await refused(newSession(t, { agent: agent.id }), { status: 400, says: /skills/ });
      }
      const { id } = await newSession(t, {
        agent: (await newAgent(t, { tools: [bashOff], skills })).id,
      });
      const update = (tools: (typeof readOff)[]) =>
        t.client.beta.sessions.update(id, { agent: { tools } });
      await refused(update([]), { status: 400, says: /skills/ });
      await refused(update([readOff]), { status: 400, says: /read/ });
      assert.equal((await update([{ ...TOOLSET, configs: [] }])).agent.tools.length, 1);
    },
  ),
];
