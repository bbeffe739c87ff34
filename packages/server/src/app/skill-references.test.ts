import type { AgentSkill, AgentSkillParams } from "@drover/api";
import { expect, test } from "vitest";
import { systemClock } from "../lib/system-clock.ts";
import { openMemoryStore } from "../store/sqlite/memory-store.testsuite.ts";
import { installedSkill } from "./installed-skills.ts";
import { createSkillReferences } from "./skill-references.ts";

const blob = { sha256: "ab".repeat(32), size_bytes: 1 };
const XLSX = installedSkill("xlsx", "2026-01-01T00:00:00.000Z", {
  slug: "xlsx",
  description: "Sheets",
  blob,
});
const HASH = `skver_${"ab".repeat(12)}`;

async function openWorld() {
  const store = openMemoryStore({
    clock: systemClock,
    announcements: { publish: () => undefined },
  });
  await store.write(async (tx) => {
    const skill = { workspace_id: "wrkspc_a", id: "skill_1", name: "my-skill" };
    await tx.skills.put({
      ...skill,
      display_name: "x",
      latest_version_id: "skver_2",
      created_at: tx.now,
      updated_at: tx.now,
    });
    for (const id of ["skver_1", "skver_2"]) {
      await tx.skills.insertVersion({
        workspace_id: "wrkspc_a",
        skill_id: "skill_1",
        id,
        description: "x",
        ...blob,
        created_at: tx.now,
      });
    }
  });
  return store;
}

async function openPinned() {
  const store = await openWorld();
  const { pinned } = createSkillReferences([XLSX]);
  return (skills: readonly AgentSkillParams[] | null | undefined, workspaceId = "wrkspc_a") =>
    store.write((tx) => pinned(tx, workspaceId, skills));
}

const custom = (version?: string | null, skill_id = "skill_1") =>
  ({ type: "custom", skill_id, ...(version === undefined ? {} : { version }) }) as const;
const anthropic = (version?: string, skill_id = "xlsx") =>
  ({ type: "anthropic", skill_id, ...(version === undefined ? {} : { version }) }) as const;

test("a version that is left out, null or latest is the newest", async () => {
  const pinned = await openPinned();
  for (const version of [undefined, null, "latest", "skver_2"]) {
    expect(await pinned([custom(version)])).toEqual([custom("skver_2")]);
  }
  expect(await pinned([custom("skver_1"), anthropic("latest")])).toEqual([
    custom("skver_1"),
    anthropic(HASH),
  ]);
  expect(await pinned([anthropic(HASH)])).toEqual([anthropic(HASH)]);
});

test("nothing stays nothing", async () => {
  const pinned = await openPinned();
  expect([await pinned(undefined), await pinned(null), await pinned([])]).toEqual([
    undefined,
    null,
    [],
  ]);
});

test.each<[string, readonly AgentSkillParams[], string]>([
  ["a skill that is not there", [custom("latest", "skill_2")], "skills.0.skill_id: there is no"],
  ["a version that is not there", [custom("skver_3")], "skills.0.version: skill skill_1 has no"],
  ["a skill that is not installed", [anthropic("latest", "pptx")], "skill pptx is not installed"],
  ["another version of an installed one", [anthropic("20251013")], "has no version 20251013"],
  ["a custom one as Anthropic's", [anthropic("latest", "skill_1")], "is not installed"],
  ["an installed one as custom", [custom("latest", "xlsx")], "there is no skill xlsx"],
  ["one twice", [custom(), custom("skver_1")], "skills.1.skill_id: skill_1 is named twice"],
])("%s is refused by name", async (_what, skills, problem) => {
  const pinned = await openPinned();
  await expect(pinned(skills)).rejects.toThrow(problem);
});

test("a skill of another workspace is not there", async () => {
  const pinned = await openPinned();
  await expect(pinned([custom()], "wrkspc_b")).rejects.toThrow("there is no skill skill_1");
});

test("skills are mounted under their names with the content of their versions", async () => {
  const store = await openWorld();
  const { mounts } = createSkillReferences([XLSX]);
  const mount = { type: "skill", description: "x", ...blob };
  const both = [custom("skver_1"), anthropic(HASH)] as const;
  expect(await store.write((tx) => mounts(tx, "wrkspc_a", both as readonly AgentSkill[]))).toEqual([
    { ...mount, mount_path: "/mnt/skills/my-skill", source: "workspace" },
    { ...mount, mount_path: "/mnt/skills/xlsx", source: "installed", description: "Sheets" },
  ]);
});

test("skills that are gone, or have one place, are refused by name", async () => {
  const store = await openWorld();
  const { mounts } = createSkillReferences([XLSX]);
  const of = (...skills: readonly AgentSkill[]) =>
    store.write((tx) => mounts(tx, "wrkspc_a", skills));
  const known = { type: "custom", skill_id: "skill_1", version: "skver_1" } as const;
  await expect(of(known, { ...known, version: "skver_9" })).rejects.toThrow(
    "agent.skills.1.version: skill skill_1 has no version skver_9",
  );
  await expect(of({ ...known, skill_id: "skill_9" })).rejects.toThrow(
    "agent.skills.0.skill_id: there is no skill skill_9",
  );
  await expect(of(known, { ...known, version: "skver_2" })).rejects.toThrow(
    "agent.skills.1: two skills have the place /mnt/skills/my-skill",
  );
});
