import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { type Scenario, scenario } from "../scenario.ts";
import { readZip, tarOf, zipOf } from "../support/archives.ts";
import { accepted, all, assertHas, assertTime, refused } from "../support/expect.ts";
import {
  type Contents,
  DOCUMENT,
  document,
  filesOf,
  formOf,
  newSkill,
  noSkillOf,
  type Skill,
  sendSkill,
} from "../support/skills.ts";
import type { Target } from "../target.ts";

const MISSING = { status: 404, type: "not_found_error" };
const UNKNOWN = "skill_of_nobody";

async function contentOf(t: Target, skill: Skill): Promise<Record<string, string>> {
  const { versions } = t.client.beta.skills;
  const response = await versions.download(skill.latest_version_id, { skill_id: skill.id });
  return readZip(new Uint8Array(await response.arrayBuffer()));
}

/** Creating skills, reading, listing and deleting them. */
export const skills: readonly Scenario[] = [
  scenario(
    "a skill is made of files whose folders are kept",
    {
      verifies: [
        "skills.create.parts",
        "skills.create.folders",
        "skills.object.shape",
        "skills.object.ids",
        "skills.object.source",
        "skills.object.latest",
        "skills.display-name.kept",
        "skills.retrieve.same",
        "skills.content.zip",
        "skills.content.folder",
        "skills.content.bytes",
      ],
      rows: [112],
    },
    async (t) => {
      const contents = {
        "my-skill/scripts/deep/run.py": "print('zwölf')\n",
        "my-skill/SKILL.md": document(),
        "my-skill/with blank.txt": "",
      };
      const { skills } = t.client.beta;
      const display_name = t.unique("Mein Skill");
      const skill = await skills.create({ files: filesOf(contents), display_name });
      assert.match(skill.id, /^skill_/);
      assert.match(skill.latest_version_id, /^skver_/);
      assertTime(skill.created_at);
      assertTime(skill.updated_at);
      assertHas(skill, { type: "skill", display_name, source: { type: "custom" } });
      assert.deepEqual(await skills.retrieve(skill.id), skill);
      assert.deepEqual(await contentOf(t, skill), contents);
    },
  ),

  scenario(
    "a skill is made of one archive",
    { verifies: ["skills.create.zip", "skills.create.tar"], rows: [112] },
    async (t) => {
      const contents: Contents = { ...DOCUMENT, "my-skill/data/a.txt": "a".repeat(2_000) };
      const members = Object.entries(contents).map(([name, content]) => ({ name, content }));
      const archives = {
        "my-skill.zip": zipOf(members),
        "my-skill.tar": tarOf(members),
        "my-skill.tar.gz": new Uint8Array(gzipSync(tarOf(members))),
      };
      for (const [name, archive] of Object.entries(archives)) {
        const skill = await newSkill(t, { [name]: archive });
        assert.deepEqual(await contentOf(t, skill), contents, name);
      }
    },
  ),

  scenario(
    "files that are no skill are refused",
    {
      verifies: [
        "skills.create.one-folder",
        "skills.create.document",
        "skills.create.no-files",
        "skills.create.unknown-field",
      ],
      rows: [112],
    },
    async (t) => {
      accepted(await sendSkill(t, formOf(DOCUMENT)));
      for (const more of ["other/a.txt", "a.txt", "my-skill2/a.txt"]) {
        await noSkillOf(t, formOf({ ...DOCUMENT, [more]: "x" }), /one folder/);
      }
      for (const path of ["my-skill/skill.md", "my-skill/docs/SKILL.md", "my-skill/README.md"]) {
        await noSkillOf(t, formOf({ [path]: document() }), /SKILL\.md/);
      }
      await noSkillOf(t, formOf({ "SKILL.md": document() }));
      await noSkillOf(t, formOf({ "a.zip": zipOf([{ name: "SKILL.md", content: document() }]) }));
      await noSkillOf(t, formOf({}, { display_name: "empty" }));
      await noSkillOf(t, formOf(DOCUMENT, { version: "2" }), /version/);
    },
  ),

  scenario(
    "a skill that is larger than it may be is refused, and its sender is told",
    { verifies: ["skills.create.size"] },
    async (t) => {
      const { skills } = t.client.beta;
      const sized = (bytes: number) =>
        skills.create({ files: filesOf({ ...DOCUMENT, "my-skill/a": new Uint8Array(bytes) }) });
      await sized(1_000_000);
      await refused(sized(30 * 1024 * 1024), { status: 413, says: /files/ });
    },
  ),

  scenario(
    "a display name is a line of at most 255 characters, by default the name",
    {
      verifies: [
        "skills.display-name.default",
        "skills.display-name.max",
        "skills.display-name.line",
        "skills.display-name.shared",
      ],
      rows: [112],
    },
    async (t) => {
      const { skills } = t.client.beta;
      const files = filesOf(DOCUMENT);
      assert.equal((await skills.create({ files })).display_name, "my-skill");
      const longest = "ä".repeat(255);
      for (let time = 0; time < 2; time += 1) {
        const skill = await skills.create({ files, display_name: longest });
        assert.equal(skill.display_name, longest);
      }
      for (const display_name of ["ä".repeat(256), "two\nlines", "x".repeat(5_000)]) {
        const refusal = { status: 400, says: /display_name/ };
        await refused(skills.create({ files, display_name }), refusal);
      }
    },
  ),

  scenario(
    "SKILL.md begins with a name and a description",
    {
      verifies: [
        "skills.frontmatter.needed",
        "skills.frontmatter.name",
        "skills.frontmatter.description",
        "skills.frontmatter.hostile",
      ],
      rows: [112],
    },
    async (t) => {
      const send = (content: string) => sendSkill(t, formOf({ "my-skill/SKILL.md": content }));
      for (const good of [
        document("x".repeat(64), "y".repeat(1_024)),
        document("a-2"),
        `${document()}\n${"text\n".repeat(10_000)}`,
        document("my-skill", "if 1 < 2 > 0"),
      ]) {
        accepted(await send(good));
      }
      const bomb = "abcdefgh".replaceAll(/(.)/g, "$1: &$1 [*x,*x,*x,*x,*x,*x,*x,*x]\n");
      for (const bad of [
        "# No frontmatter",
        "---\nname: my-skill\ndescription: no end\n",
        document("x".repeat(65)),
        document("My-Skill"),
        document("my skill"),
        document("../x"),
        document("claude-helper"),
        document("from-anthropic"),
        document('""'),
        document("my-skill", "z".repeat(1_025)),
        document("my-skill", '" "'),
        document("my-skill", "a <system>b</system>"),
        "---\nname: my-skill\n---\n",
        "---\n- a list\n---\n",
        "---\nname: a\nname: b\ndescription: twice\n---\n",
        "---\nname: [unclosed\n---\n",
        `---\nname: my-skill\ndescription: a\nx: &x [1,1,1]\n${bomb}---\n`,
        `---\nname: ${"[".repeat(4_000)}\n---\n`,
      ]) {
        await noSkillOf(t, formOf({ "my-skill/SKILL.md": bad }), /SKILL\.md/);
      }
    },
  ),

  scenario(
    "the slug is the name in the frontmatter, or else that of the folder",
    { verifies: ["skills.slug.frontmatter", "skills.slug.folder", "skills.versions.name"] },
    async (t) => {
      const named = await newSkill(t, { "Any Folder/SKILL.md": document("other-name") });
      assert.deepEqual(Object.keys(await contentOf(t, named)), ["other-name/SKILL.md"]);
      const unnamed = await newSkill(t, { "the-folder/SKILL.md": "---\ndescription: x\n---\n" });
      assert.deepEqual(Object.keys(await contentOf(t, unnamed)), ["the-folder/SKILL.md"]);
      assert.equal(unnamed.display_name, "the-folder");
      const bad = { "The Folder/SKILL.md": "---\ndescription: x\n---\n" };
      await noSkillOf(t, formOf(bad), /name/);
    },
  ),

  scenario(
    "skills are listed newest first, in pages of any size, and by their source",
    {
      verifies: [
        "skills.list.order",
        "skills.list.paged",
        "skills.list.source",
        "skills.list.source-null",
        "skills.list.source-unknown",
      ],
      rows: [112],
    },
    async (t) => {
      const made: string[] = [];
      for (let count = 0; count < 5; count += 1) made.unshift((await newSkill(t)).id);
      const { skills } = t.client.beta;
      const listed = async (query: object) => {
        const ids = (await all(skills.list(query))).map(({ id }) => id);
        assert.equal(new Set(ids).size, ids.length, "each once");
        return ids.filter((id) => made.includes(id));
      };
      for (const limit of [2, 7, 100]) assert.deepEqual(await listed({ limit }), made);
      assert.deepEqual(await listed({ source: "custom" }), made);
      assert.deepEqual(await listed({ source: null }), made);
      for (const skill of await all(skills.list({ source: "anthropic" }))) {
        assert.equal(skill.source.type, "anthropic");
      }
      await refused(all(skills.list({ source: "mine" })), { status: 400, says: /source/ });
    },
  ),

  scenario(
    "a deleted skill is gone with its versions",
    {
      verifies: [
        "skills.delete.tombstone",
        "skills.delete.versions",
        "skills.delete.unknown",
        "skills.retrieve.unknown",
      ],
      rows: [112],
    },
    async (t) => {
      const { skills } = t.client.beta;
      const skill = await newSkill(t);
      const kept = await newSkill(t);
      const skill_id = skill.id;
      assert.deepEqual(await skills.delete(skill_id), { id: skill_id, type: "skill_deleted" });
      for (const id of [skill_id, UNKNOWN]) {
        await refused(skills.retrieve(id), MISSING);
        await refused(skills.delete(id), MISSING);
        await refused(all(skills.versions.list(id)), MISSING);
        await refused(skills.versions.retrieve("latest", { skill_id: id }), MISSING);
        await refused(skills.versions.create(id, { files: filesOf(DOCUMENT) }), MISSING);
      }
      const version = skill.latest_version_id;
      await refused(skills.versions.download(version, { skill_id }), MISSING);
      assert.deepEqual(await skills.retrieve(kept.id), kept);
    },
  ),

  scenario(
    "skills of another workspace are neither found nor listed",
    { verifies: ["skills.workspace"], needs: ["other-workspace"] },
    async (t) => {
      const { id, latest_version_id: version } = await newSkill(t);
      const stranger = t.clientWith({ apiKey: t.key("other-workspace") }).beta;
      const { skills } = stranger;
      await refused(skills.retrieve(id), MISSING);
      await refused(skills.delete(id), MISSING);
      await refused(skills.versions.create(id, { files: filesOf(DOCUMENT) }), MISSING);
      await refused(skills.versions.retrieve("latest", { skill_id: id }), MISSING);
      await refused(skills.versions.download(version, { skill_id: id }), MISSING);
      const listed = await all(skills.list());
      assert.equal(
        listed.some((skill) => skill.id === id),
        false,
      );
      const reference = { type: "custom", skill_id: id } as const;
      const agent = { name: "a", model: t.model, skills: [reference] };
      await refused(stranger.agents.create(agent), MISSING);
      assertHas(await t.client.beta.skills.retrieve(id), { id });
    },
  ),

  scenario(
    "a key that may only read makes and deletes no skills",
    { verifies: ["skills.read-only"], needs: ["read-only-key"] },
    async (t) => {
      const { id } = await newSkill(t);
      const { skills } = t.clientWith({ apiKey: t.key("read-only-key") }).beta;
      const refusal = { status: 403, type: "permission_error" };
      await refused(skills.create({ files: filesOf(DOCUMENT) }), refusal);
      await refused(skills.versions.create(id, { files: filesOf(DOCUMENT) }), refusal);
      await refused(skills.delete(id), refusal);
      assertHas(await skills.retrieve(id), { id });
    },
  ),

  scenario(
    "skills read the same outside of the beta, with any beta header and without",
    { verifies: ["skills.ga", "skills.beta"], rows: [121] },
    async (t) => {
      const { skills } = t.client;
      const skill = await skills.create({ files: filesOf(DOCUMENT), display_name: "GA" });
      assert.deepEqual(await t.client.beta.skills.retrieve(skill.id), skill);
      const version = await skills.versions.create(skill.id, { files: filesOf(DOCUMENT) });
      const at = { skill_id: skill.id };
      assert.deepEqual(await skills.versions.retrieve(version.id, at), version);
      assert.equal((await skills.versions.list(skill.id)).data.length, 2);
      const path = `/v1/skills/${skill.id}`;
      const plain = accepted(await t.request("GET", path));
      for (const beta of ["skills-2025-10-02", "what-there-is-not"]) {
        const headers = { "anthropic-beta": beta };
        assert.deepEqual(accepted(await t.request("GET", path, { headers })), plain);
      }
      await skills.versions.delete(version.id, at);
      assertHas(await skills.delete(skill.id), { type: "skill_deleted" });
    },
  ),
];
