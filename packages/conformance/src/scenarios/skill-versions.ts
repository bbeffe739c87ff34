import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { readZip, zipOf } from "../support/archives.ts";
import { accepted, all, assertHas, assertRefused, assertTime, refused } from "../support/expect.ts";
import { DOCUMENT, document, filesOf, formOf, newSkill, newVersion } from "../support/skills.ts";

const MISSING = { status: 404, type: "not_found_error" };

/** A skill's versions, and the skills that are there for all workspaces. */
export const skillVersions: readonly Scenario[] = [
  scenario(
    "a version is added, and is the latest from then on",
    {
      verifies: [
        "skills.versions.shape",
        "skills.versions.description",
        "skills.versions.retrieve",
        "skills.versions.latest",
        "skills.object.latest",
      ],
      rows: [113],
    },
    async (t) => {
      const { skills } = t.client.beta;
      const skill = await newSkill(t);
      const at = { skill_id: skill.id };
      const first = await skills.versions.retrieve(skill.latest_version_id, at);
      assert.deepEqual(await skills.versions.retrieve("latest", at), first);
      const second = await newVersion(t, skill, "Said anew, really?");
      assert.match(second.id, /^skver_/);
      assertTime(second.created_at);
      assertHas(second, {
        type: "skill_version",
        skill_id: skill.id,
        name: "my-skill",
        description: "Said anew, really?",
      });
      assert.deepEqual(await skills.versions.retrieve("latest", at), second);
      assert.deepEqual(await skills.versions.retrieve(first.id, at), first);
      const now = await skills.retrieve(skill.id);
      assertHas(now, { latest_version_id: second.id, display_name: skill.display_name });
      assert.equal(now.created_at, skill.created_at);
      assert.ok(now.updated_at >= skill.updated_at);
    },
  ),

  scenario(
    "a version must resolve to the slug of those before it",
    {
      verifies: ["skills.slug.same", "skills.versions.no-fields", "skills.versions.refused"],
      rows: [113],
    },
    async (t) => {
      const { id } = await newSkill(t);
      const path = `/v1/skills/${id}/versions`;
      const send = (body: FormData) => t.request("POST", path, { body });
      accepted(await send(formOf({ "anything/SKILL.md": document() })));
      const other = formOf({ "my-skill/SKILL.md": document("other-skill") });
      assertRefused(await send(other), { status: 400, says: /my-skill/ });
      const named = formOf(DOCUMENT, { display_name: "x" });
      assertRefused(await send(named), { status: 400, says: /display_name/ });
      for (const bad of [
        formOf({ "my-skill/README.md": "x" }),
        formOf({ ...DOCUMENT, "other/x": "x" }),
        formOf({ "a.zip": zipOf([{ name: "my-skill/../SKILL.md", content: document() }]) }),
      ]) {
        assertRefused(await send(bad), { status: 400, says: /files/ });
      }
      assert.equal((await all(t.client.beta.skills.versions.list(id))).length, 2);
    },
  ),

  scenario(
    "versions are listed newest first, in pages of any size",
    { verifies: ["skills.versions.order", "skills.versions.paged"], rows: [113] },
    async (t) => {
      const skill = await newSkill(t);
      const ids = [skill.latest_version_id];
      for (const description of ["Two", "Three", "Four", "Five"]) {
        ids.unshift((await newVersion(t, skill, description)).id);
      }
      for (const limit of [1, 2, 5, 100]) {
        const listed = await all(t.client.beta.skills.versions.list(skill.id, { limit }));
        const found = listed.map(({ id }) => id);
        assert.deepEqual(found, ids, `limit ${limit}`);
      }
    },
  ),

  scenario(
    "versions are deleted down to one, and the newest left is the latest",
    {
      verifies: [
        "skills.versions.delete",
        "skills.versions.delete-latest",
        "skills.versions.last",
        "skills.versions.unknown",
      ],
      rows: [113],
    },
    async (t) => {
      const { skills } = t.client.beta;
      const skill = await newSkill(t);
      const other = await newSkill(t);
      const second = await newVersion(t, skill, "Second");
      const third = await newVersion(t, skill, "Third");
      const at = { skill_id: skill.id };
      const gone = async (id: string) =>
        assert.deepEqual(await skills.versions.delete(id, at), {
          id,
          type: "skill_version_deleted",
        });
      await gone(third.id);
      assert.deepEqual(await skills.versions.retrieve("latest", at), second);
      await gone(skill.latest_version_id);
      assertHas(await skills.retrieve(skill.id), { latest_version_id: second.id });
      const refusal = { status: 400, type: "invalid_request_error", says: /only version/ };
      await refused(skills.versions.delete(second.id, at), refusal);
      assert.deepEqual(await skills.versions.retrieve("latest", at), second);
      for (const id of [third.id, "skver_of_nobody", other.latest_version_id]) {
        await refused(skills.versions.retrieve(id, at), MISSING);
        await refused(skills.versions.delete(id, at), MISSING);
        await refused(skills.versions.download(id, at), MISSING);
      }
    },
  ),

  scenario(
    "a version's content is a zip, under its id alone",
    {
      verifies: [
        "skills.content.zip",
        "skills.content.folder",
        "skills.content.concrete",
        "skills.versions.retrieve",
      ],
      rows: [113],
    },
    async (t) => {
      const { versions } = t.client.beta.skills;
      const skill = await newSkill(t, { "folder/SKILL.md": document(), "folder/a": "first" });
      await newVersion(t, skill, "Second");
      const at = { skill_id: skill.id };
      const response = await versions.download(skill.latest_version_id, at);
      const bytes = new Uint8Array(await response.arrayBuffer());
      assert.match(response.headers.get("content-type") ?? "", /zip/);
      assert.equal(response.headers.get("content-length"), String(bytes.length));
      assert.deepEqual(readZip(bytes), {
        "my-skill/SKILL.md": document(),
        "my-skill/a": "first",
      });
      await refused(versions.download("latest", at), MISSING);
    },
  ),

  scenario(
    "skills of Anthropic that are installed can be read and not changed",
    {
      verifies: ["skills.installed.list", "skills.installed.content", "skills.installed.read-only"],
      rows: [112, 113],
    },
    async (t) => {
      const { skills } = t.client.beta;
      const everything = (await all(skills.list())).map(({ id }) => id);
      for (const skill of await all(skills.list({ source: "anthropic" }))) {
        const at = { skill_id: skill.id };
        assert.ok(everything.includes(skill.id));
        assertHas(skill, { type: "skill", source: { type: "anthropic" } });
        assert.deepEqual(await skills.retrieve(skill.id), skill);
        const version = await skills.versions.retrieve("latest", at);
        assertHas(version, { id: skill.latest_version_id, skill_id: skill.id });
        const response = await skills.versions.download(version.id, at);
        const names = Object.keys(readZip(new Uint8Array(await response.arrayBuffer())));
        assert.ok(names.includes(`${version.name}/SKILL.md`));
        const refusal = { status: 400, says: /read/ };
        await refused(skills.delete(skill.id), refusal);
        await refused(skills.versions.delete(version.id, at), refusal);
        await refused(skills.versions.create(skill.id, { files: filesOf(DOCUMENT) }), refusal);
        const reference = { type: "anthropic", skill_id: skill.id } as const;
        const agent = await t.client.beta.agents.create({
          name: t.unique("agent"),
          model: t.model,
          skills: [reference],
        });
        assert.deepEqual(agent.skills, [{ ...reference, version: version.id }]);
      }
    },
  ),
];
