import { describe, expect, test } from "vitest";
import type { SkillRecord, SkillVersionRecord } from "./skills.ts";
import { type OpenStore, START, uniqueId } from "./store.testsuite.ts";

const at = (ms: number): string => new Date(START + ms).toISOString();
const NEWEST = { limit: 100, order: "desc" } as const;

function newSkill(changes: Partial<SkillRecord> = {}): SkillRecord {
  return {
    workspace_id: uniqueId("wrkspc"),
    id: uniqueId("skill"),
    name: "my-skill",
    display_name: "My skill",
    latest_version_id: uniqueId("skver"),
    created_at: at(0),
    updated_at: at(0),
    ...changes,
  };
}

function versionOf(skill: SkillRecord, changes: Partial<SkillVersionRecord> = {}) {
  return {
    workspace_id: skill.workspace_id,
    skill_id: skill.id,
    id: skill.latest_version_id,
    description: "Does it",
    sha256: "a".repeat(64),
    size_bytes: 5_000_000_000,
    created_at: skill.created_at,
    ...changes,
  };
}

/** The contract of `Skills`, run by the test of every implementation. */
export function testSkills(open: OpenStore): void {
  describe("Skills", () => {
    test("are stored, changed in what may change, listed and found in their workspace alone", async () => {
      await using world = await open();
      const { store } = world;
      const first = newSkill();
      const { workspace_id } = first;
      const second = newSkill({ workspace_id, created_at: at(1) });
      await store.write(async (tx) => {
        await tx.skills.put(first);
        await tx.skills.put(second);
      });
      const changed = { ...first, latest_version_id: "skver_2", updated_at: at(9) };
      const put = { ...changed, name: "other", display_name: "Other", created_at: at(5) };
      await store.write((tx) => tx.skills.put(put));
      expect(await store.skills.find(workspace_id, first.id)).toEqual(changed);
      expect(await store.skills.list(workspace_id, NEWEST)).toEqual([second, changed]);
      const page = { ...NEWEST, limit: 1, after: second };
      expect(await store.skills.list(workspace_id, page)).toEqual([changed]);
      expect(await store.skills.find(uniqueId("wrkspc"), first.id)).toBeUndefined();
      expect(await store.skills.list(uniqueId("wrkspc"), NEWEST)).toEqual([]);
    });

    test("keep their versions, newest first", async () => {
      await using world = await open();
      const { store } = world;
      const skill = newSkill();
      const { workspace_id } = skill;
      const versions = [1, 2, 3].map((number) =>
        versionOf(skill, { id: uniqueId("skver"), created_at: at(number) }),
      );
      const [one, two, three] = versions;
      const other = newSkill({ workspace_id });
      await store.write(async (tx) => {
        await tx.skills.put(skill);
        for (const version of versions) await tx.skills.insertVersion(version);
        await tx.skills.insertVersion(versionOf(other));
      });
      const find = (id: string | undefined, skillId = skill.id, workspaceId = workspace_id) =>
        store.skills.findVersion(workspaceId, skillId, id ?? "");
      expect(await find(two?.id)).toEqual(two);
      expect(await find(two?.id, other.id)).toBeUndefined();
      expect(await find(two?.id, skill.id, uniqueId("wrkspc"))).toBeUndefined();
      const list = store.skills.listVersions;
      expect(await list(workspace_id, skill.id, NEWEST)).toEqual([three, two, one]);
      const page = { limit: 1, order: "desc", ...(three && { after: three }) } as const;
      expect(await list(workspace_id, skill.id, page)).toEqual([two]);
      await store.write((tx) => tx.skills.deleteVersion(workspace_id, skill.id, three?.id ?? ""));
      expect(await list(workspace_id, skill.id, NEWEST)).toEqual([two, one]);
      expect(await list(uniqueId("wrkspc"), skill.id, NEWEST)).toEqual([]);
    });

    test("need their content, and let go of it with each version", async () => {
      await using world = await open();
      const { store } = world;
      const skill = newSkill();
      const { workspace_id, id } = skill;
      const [one = "", two = "", three = ""] = ["1", "2", "3"].map((digit) => digit.repeat(64));
      await store.write(async (tx) => {
        await tx.skills.put(skill);
        for (const sha256 of [one, two, three]) {
          await tx.skills.insertVersion(versionOf(skill, { id: `skver_${sha256[0]}`, sha256 }));
        }
      });
      const isNeeded = (sha256: string, workspaceId = workspace_id) =>
        store.write((tx) => tx.files.isReferenced(workspaceId, sha256));
      const loose = async () =>
        (await store.write((tx) => tx.looseBlobs.list(at(1_000), 100)))
          .filter((blob) => blob.workspaceId === workspace_id)
          .map(({ sha256 }) => sha256[0]);
      expect([await isNeeded(one), await isNeeded(one, uniqueId("wrkspc"))]).toEqual([true, false]);
      await store.write((tx) => tx.skills.deleteVersion(workspace_id, id, "skver_1"));
      expect([await loose(), await isNeeded(one), await isNeeded(two)]).toEqual([
        ["1"],
        false,
        true,
      ]);
      await store.write((tx) => tx.skills.delete(uniqueId("wrkspc"), id));
      expect(await isNeeded(two)).toBe(true);
      await store.write((tx) => tx.skills.delete(workspace_id, id));
      expect(await loose()).toEqual(["1", "2", "3"]);
      expect([await isNeeded(two), await store.skills.find(workspace_id, id)]).toEqual([
        false,
        undefined,
      ]);
    });
  });
}
