import { dirname, join } from "node:path";
import type Anthropic from "@anthropic-ai/sdk";
import { expect, test } from "vitest";
import { openApplyWorld } from "./world.testsuite.ts";

const AGENT = "kind: agent\nname: analyst\nmodel: offline/script\n";

async function agentsByName(beta: Anthropic["beta"]) {
  const agents = await agentsOf(beta);
  return Object.fromEntries(agents.map((agent) => [agent.name, agent]));
}

async function agentsOf(beta: Anthropic["beta"]) {
  const { data } = await beta.agents.list({ limit: 100 });
  return data.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

test("what files define is made, and a second time nothing changes", async () => {
  const { beta, write, run } = await openApplyWorld();
  write("all.yaml", `kind: environment\nname: data\ndescription: for numbers\n---\n${AGENT}`);
  const first = await run();
  expect(first.code).toBe(0);
  expect(first.text).toContain("+ environment data\n    +config:");
  expect(first.text).toContain("+ agent analyst\n    +name: analyst");
  expect(first.text).toContain("2 to create, 0 to change, 0 unchanged.");
  expect(first.text).toMatch(
    /created environment data \(env_\w+\)\ncreated agent analyst \(agent_/,
  );
  const second = await run();
  expect(second.text).toMatch(/^= environment data \(env_\w+\)\n= agent analyst \(agent_\w+\)\n/);
  expect(second).toMatchObject({ code: 0, text: expect.stringContaining("0 to change, 2 unch") });
  expect(await agentsOf(beta)).toMatchObject([{ name: "analyst", version: 1 }]);
});

test("a change shows its difference, and what a file leaves out is cleared", async () => {
  const { beta, write, run } = await openApplyWorld();
  write("a.yaml", `${AGENT}system: |\n  one\n  two\nmetadata: { a: "1", b: "2" }\n`);
  write(
    "e.yaml",
    "kind: environment\nname: data\nconfig: { type: cloud, packages: { pip: [x] } }\n",
  );
  await run();
  write("a.yaml", `${AGENT}system: |\n  one\n  three\nmetadata: { b: "2" }\n`);
  write("e.yaml", "kind: environment\nname: data\n");
  const { text } = await run();
  expect(text).toMatch(/~ agent analyst \(agent_\w+\)/);
  expect(text).toContain("     system: |\n       one\n    -  two\n    +  three\n");
  expect(text).toContain('    -  a: "1"\n');
  expect(text).toContain("    -    pip:\n    -      - x\n    +    pip: []\n");
  expect(await agentsOf(beta)).toMatchObject([
    { version: 2, system: "one\nthree\n", metadata: { b: "2" } },
  ]);
  expect((await run()).text).toContain("0 to create, 0 to change, 2 unchanged.");
});

test("definitions name each other, across files and on the server", async () => {
  const { beta, write, run } = await openApplyWorld();
  const helper = await beta.agents.create({ name: "helper", model: "offline/script" });
  write("reviewer.yaml", "kind: agent\nname: reviewer\nmodel: offline/script\n");
  write(
    "lead.yaml",
    `${AGENT.replace("analyst", "lead")}multiagent:
  type: coordinator
  agents: [reviewer, lead, helper, { type: agent, id: ${helper.id} }]
`,
  );
  await expect(run()).rejects.toThrow(
    /lead\.yaml:6:3: multiagent\.agents: agent_\w+ is named twice/,
  );
  const lead = `${AGENT.replace("analyst", "lead")}multiagent:
  type: multiagent_20261001
  subagents: { type: enabled, predefined_agents: [reviewer, lead] }
  workflows: { type: enabled, predefined_agents: [helper, ${(await beta.agents.create({ name: "by-id", model: "m" })).id}] }
`;
  write("lead.yaml", lead);
  const { text } = await run();
  expect(text).toContain("id: (new agent reviewer)");
  expect(text).toMatch(/created agent reviewer .*\ncreated agent lead/);
  const { lead: made, reviewer } = await agentsByName(beta);
  expect(made?.multiagent).toMatchObject({
    subagents: {
      predefined_agents: [
        { id: reviewer?.id, version: 1 },
        { id: made?.id, version: 1 },
      ],
    },
    workflows: { predefined_agents: [{ id: helper.id, version: 1 }, { version: 1 }] },
  });
  expect((await run()).text).toContain("0 to create, 0 to change, 2 unchanged.");

  write("reviewer.yaml", "kind: agent\nname: reviewer\nmodel: offline/script\nsystem: strict\n");
  expect((await run()).text).toContain("0 to create, 2 to change, 0 unchanged.");
  expect((await agentsByName(beta))["lead"]).toMatchObject({
    version: 2,
    multiagent: {
      subagents: {
        predefined_agents: [
          { id: reviewer?.id, version: 2 },
          { id: made?.id, version: 2 },
        ],
      },
    },
  });
  expect((await run()).text).toContain("0 to create, 0 to change, 2 unchanged.");
});

test("an agent in Markdown has its system prompt below the front matter", async () => {
  const { beta, write, run } = await openApplyWorld();
  const path = write(
    "analyst.md",
    "---\nname: analyst\nmodel: offline/script\n---\n\n# You analyse\n\nCarefully.\n",
  );
  await run({ paths: [path] });
  expect((await agentsByName(beta))["analyst"]?.system).toBe("# You analyse\n\nCarefully.");
  const twice = await run({ paths: [path, `${dirname(path)}/./analyst.md`] });
  expect(twice.text).toContain("1 unchanged.");
  write("analyst.md", "---\nname: analyst\nmodel: offline/script\nsystem: twice\n---\nx\n");
  await expect(run({ paths: [path] })).rejects.toThrow(
    "analyst.md:4:1: system: is what stands below",
  );
  write("analyst.md", "---\n- a list\n---\nx\n");
  await expect(run({ paths: [path] })).rejects.toThrow(
    "analyst.md:2:1: the front matter must hold",
  );
  write("analyst.md", "# No front matter\n");
  await expect(run({ paths: [path] })).rejects.toThrow(
    "analyst.md:1:1: must begin with front matter",
  );
});

test("in a folder only what says that it is a definition is one", async () => {
  const { write, run } = await openApplyWorld();
  write("deep/er/agent.md", "---\nkind: agent\nname: deep\nmodel: offline/script\n---\nHello.\n");
  write("README.md", "# About\n");
  write("notes.md", "---\ntitle: notes\n---\n");
  write("data.json", "{");
  write(".hidden/agent.yaml", "kind: nothing\n");
  write("node_modules/x/agent.yaml", "kind: nothing\n");
  write("skill/SKILL.md", "---\nname: skill\ndescription: d\n---\n");
  write("skill/agent.yaml", "kind: nothing\n");
  expect((await run()).text).toContain("1 to create, 0 to change, 0 unchanged.");
});

test("everything that is wrong is said with its place, before the server is asked", async () => {
  const { client, folder, write, run } = await openApplyWorld();
  client.baseURL = "http://nobody.test";
  write(
    "bad.yaml",
    `kind: agent
name: analyst
model: offline/script
tools:
  - type: agent_toolset_20260401
    configs:
      - name: bash
        permission_policy: { type: always_alow }
  - type: custom
    name: mcp__x
    description: d
    input_schema: { type: object }
metdata: {}
---
kind: enviroment
name: x
---
kind: environment
name: ""
---
kind: agent
name: [unclosed
`,
  );
  write("b.yaml", `${AGENT}---\n${AGENT}`);
  const place = (line: string) => join(folder, line);
  const error = await run().catch((thrown: Error) => thrown.message);
  const lines = String(error).split("\n");
  expect(lines).toEqual([
    place('b.yaml:6:1: agent "analyst" is defined twice, first in ') + place("b.yaml:2"),
    expect.stringContaining(place("bad.yaml:8:30: tools.0.configs.0.permission_policy.type: ")),
    place("bad.yaml:10:5: tools.1.name: must not begin with mcp__"),
    place("bad.yaml:13:1: metdata: unknown field"),
    expect.stringContaining(place("bad.yaml:15:1: kind: ")),
    expect.stringContaining(place("bad.yaml:19:1: name: ")),
    expect.stringContaining(place("bad.yaml:23:1: ")),
  ]);
});
