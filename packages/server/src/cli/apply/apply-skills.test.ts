import { expect, test } from "vitest";
import { openApplyWorld } from "./world.testsuite.ts";

const SKILL = "kind: skill\npath: skills/report\n";
const DOCUMENT = "---\nname: report\ndescription: writes reports\n---\n";
const AGENT = "kind: agent\nname: analyst\nmodel: offline/script\nskills: [report]\n";

test("a skill's folder is uploaded when it differs, and agents follow its versions", async () => {
  const { beta, write, run } = await openApplyWorld();
  write("a.yaml", `${AGENT}---\n${SKILL}display_name: Reports\n`);
  write("skills/report/SKILL.md", DOCUMENT);
  write("skills/report/scripts/make.py", "print(1)\n");
  const first = await run();
  expect(first.text).toContain("+ skill report\n    +SKILL.md: ");
  expect(first.text).toMatch(/created skill report \(skill_\w+\)\ncreated agent analyst/);
  const [skill] = (await beta.skills.list({ source: "custom" })).data;
  expect(skill).toMatchObject({ display_name: "Reports" });
  const reference = { type: "custom", skill_id: skill?.id };
  const [made] = (await beta.agents.list()).data;
  expect(made?.skills).toEqual([{ ...reference, version: skill?.latest_version_id }]);
  expect((await run()).text).toContain("0 to create, 0 to change, 2 unchanged.");

  write("skills/report/scripts/make.py", "print(2)\n");
  write("skills/report/notes.md", "more\n");
  const changed = await run();
  expect(changed.text).toContain("    +notes.md: 5 bytes");
  expect(changed.text).toContain("    -scripts/make.py: 9 bytes");
  expect(changed.text).toContain("    +scripts/make.py: 9 bytes");
  expect(changed.text).toContain("0 to create, 2 to change, 0 unchanged.");
  const [after] = (await beta.agents.list()).data;
  const [renewed] = (await beta.skills.list({ source: "custom" })).data;
  expect(renewed?.latest_version_id).not.toBe(skill?.latest_version_id);
  expect(after).toMatchObject({
    version: 2,
    skills: [{ ...reference, version: renewed?.latest_version_id }],
  });
  expect((await run()).text).toContain("0 to create, 0 to change, 2 unchanged.");
});

test("agents name skills that are on the server, by name or by id", async () => {
  const { beta, write, run } = await openApplyWorld();
  const path = write("skill.yaml", SKILL);
  write("skills/report/SKILL.md", DOCUMENT);
  await run({ paths: [path] });
  const [skill] = (await beta.skills.list({ source: "custom" })).data;
  const byName = write("a.yaml", AGENT);
  await run({ paths: [byName] });
  write("a.yaml", AGENT.replace("[report]", `[{ type: custom, skill_id: ${skill?.id} }]`));
  expect((await run({ paths: [byName] })).text).toContain("1 unchanged.");
});

test("what is wrong with a skill is said at its place", async () => {
  const { write, run } = await openApplyWorld();
  write("a.yaml", SKILL);
  await expect(run()).rejects.toThrow(/a\.yaml:2:1: path: there is no folder .*skills\/report$/);
  write("skills/report/readme.txt", "x");
  await expect(run()).rejects.toThrow(/a\.yaml:1:1: files: there must be "report\/SKILL\.md"/);
  write("skills/report/SKILL.md", "no front matter");
  await expect(run()).rejects.toThrow(/a\.yaml:1:1: files: SKILL\.md must begin with frontmatter/);
  write("skills/report/SKILL.md", DOCUMENT);
  write("a.yaml", `${SKILL}---\n${SKILL.replace("report", "other")}`);
  write("skills/other/SKILL.md", DOCUMENT);
  await expect(run()).rejects.toThrow(/skill "report" is defined twice, first in .*a\.yaml:1/);
  write("a.yaml", SKILL);
  await run();
  write("a.yaml", `${SKILL}display_name: Other\n`);
  await expect(run()).rejects.toThrow(/a\.yaml:3:1: display_name: skill report is called "report"/);
});
