import { expect, test } from "vitest";
import { openApplyWorld } from "./world.testsuite.ts";

const AGENT = "kind: agent\nname: analyst\nmodel: offline/script\n";

test("a name that several agents have is refused with their ids", async () => {
  const { beta, write, run } = await openApplyWorld();
  const agents = [
    await beta.agents.create({ name: "analyst", model: "m" }),
    await beta.agents.create({ name: "analyst", model: "m" }),
  ];
  write("a.yaml", AGENT);
  write(
    "b.yaml",
    `${AGENT.replace("analyst", "lead")}multiagent: { type: coordinator, agents: [analyst] }\n`,
  );
  const error = await run().catch((thrown: Error) => thrown.message);
  for (const { id } of agents) expect(error).toContain(id);
  expect(error).toMatch(/a\.yaml:2:1: there are 2 agents named "analyst" \(agent_/);
  expect(error).toMatch(/b\.yaml:4:43: there are 2 agents named "analyst" \(agent_/);
  await beta.agents.archive(agents[0]?.id ?? "");
  expect((await run()).text).toContain("1 to create, 1 to change");
});

test("names that mean nothing are refused with their place", async () => {
  const { write, run } = await openApplyWorld();
  write("a.yaml", `${AGENT}skills:\n  - report\n`);
  await expect(run()).rejects.toThrow('a.yaml:5:5: there is no skill named "report"');
  write("a.yaml", `${AGENT}skills:\n  - { type: custom, skill_id: skill_x }\n`);
  await expect(run()).rejects.toThrow("a.yaml:5:5: there is no skill skill_x");
  write("a.yaml", `${AGENT}multiagent: { type: coordinator, agents: [somebody] }\n`);
  await expect(run()).rejects.toThrow('a.yaml:4:43: there is no agent named "somebody"');
  write("a.yaml", `${AGENT}multiagent: { type: coordinator, agents: [agent_x] }\n`);
  await expect(run()).rejects.toThrow("a.yaml:4:1: multiagent: there is no agent agent_x");
});

test("what the API's rules forbid is refused at its place, before anything is done", async () => {
  const { beta, write, run } = await openApplyWorld();
  write("e.yaml", "kind: environment\nname: data\n");
  write("a.yaml", `${AGENT}mcp_servers:\n  - { type: url, name: s, url: https://h }\n`);
  await expect(run()).rejects.toThrow('a.yaml:4:1: mcp_servers: no mcp_toolset in tools uses "s"');
  expect((await beta.environments.list()).data).toEqual([]);
  await beta.environments.create({ name: "data", config: { type: "self_hosted" } });
  write("a.yaml", AGENT);
  write("e.yaml", "kind: environment\nname: data\nconfig:\n  type: cloud\n");
  await expect(run()).rejects.toThrow(
    "e.yaml:4:3: config.type: an environment of type self_hosted",
  );
});

test("without a yes nothing is changed, and the exit code tells that there is a difference", async () => {
  const { beta, write, run } = await openApplyWorld();
  write("a.yaml", AGENT);
  const dry = await run({ dryRun: true });
  expect(dry).toMatchObject({ code: 2, text: expect.stringContaining("+ agent analyst") });
  const alone = await run({ yes: false });
  expect(alone).toMatchObject({ code: 2, text: expect.stringContaining("Give --yes to apply") });
  const declined = await run({ yes: false }, async () => false);
  expect(declined).toMatchObject({
    code: 2,
    text: expect.stringMatching(/\nNothing was changed\.$/),
  });
  expect((await beta.agents.list()).data).toEqual([]);
  expect((await run({ yes: false }, async () => true)).code).toBe(0);
  expect((await beta.agents.list()).data).toHaveLength(1);
  expect((await run({ dryRun: true })).code).toBe(0);
  expect((await run({ yes: false })).code).toBe(0);
});

test("a plan that fails half-way says what was done, and goes on from there the next time", async () => {
  const { server, beta, write, run } = await openApplyWorld();
  write("1.yaml", "kind: environment\nname: data\n");
  write("2.yaml", AGENT);
  write("3.yaml", AGENT.replace("analyst", "reviewer"));
  write("4.yaml", AGENT.replace("analyst", "writer"));
  const created = beta.agents.create.bind(beta.agents);
  const answered = run({ yes: false }, async () => {
    // Between the look and the doing the disk gets full.
    server.failWrites("the disk is full");
    return true;
  });
  await expect(answered).rejects.toThrow(
    /^Stopped at environment data: .*\nDone before it: nothing\. Not tried: agent analyst, agent reviewer, agent writer\.\n/,
  );
  server.failWrites(undefined);
  const raced = run({ yes: false }, async () => {
    await created({ name: "x", model: "m" });
    await beta.environments.create({ name: "data" });
    return true;
  });
  await expect(raced).rejects.toThrow(/^Stopped at environment data: .*named/);
  expect((await run()).text).toContain("3 to create, 0 to change, 1 unchanged.");
});

test("an agent that changed since the look is not overwritten", async () => {
  const { beta, write, run } = await openApplyWorld();
  const { id } = await beta.agents.create({ name: "analyst", model: "offline/script" });
  write("a.yaml", `${AGENT}system: mine\n`);
  const raced = run({ yes: false }, async () => {
    await beta.agents.update(id, { system: "theirs" });
    return true;
  });
  await expect(raced).rejects.toThrow(
    /^Stopped at agent analyst: version: agent \w+ is at version 2, not 1\n/,
  );
  expect((await beta.agents.retrieve(id)).system).toBe("theirs");
  await run();
  expect((await beta.agents.retrieve(id)).system).toBe("mine");
});

test("an effort that a file does not say stays", async () => {
  const { beta, write, run } = await openApplyWorld();
  const { id } = await beta.agents.create({
    name: "analyst",
    model: { id: "offline/script", effort: "low" },
  });
  write("a.yaml", AGENT);
  expect((await run()).text).toContain("1 unchanged.");
  expect((await beta.agents.retrieve(id)).version).toBe(1);
});

test("what others wrote cannot move the reader's cursor", async () => {
  const { beta, write, run } = await openApplyWorld();
  await beta.agents.create({ name: "analyst", model: "offline/script", system: "a\u001b[2Jb\n" });
  write("a.yaml", AGENT);
  const { text } = await run({ dryRun: true });
  expect(text).toContain("[2Jb");
  expect(text).not.toContain("\u001b");
});

test("nothing to apply, and paths that are not there, are refused with a sentence", async () => {
  const { folder, write, run } = await openApplyWorld();
  await expect(run()).rejects.toThrow("There is no definition in");
  await expect(run({ paths: [`${folder}/no.yaml`] })).rejects.toThrow(
    "no.yaml cannot be read: there is no such file or folder.",
  );
  const text = write("a.txt", AGENT);
  await expect(run({ paths: [text] })).rejects.toThrow("a.txt is neither YAML");
});
