import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { INSTALLED_WORKSPACE } from "../app/installed-skills.ts";
import { OperatorError } from "../lib/operator-error.ts";
import { MemoryBlobs } from "../store/memory-blobs.ts";
import { readInstalledSkills } from "./installed-skills.ts";

const DOCUMENT = "---\nname: claude-sheets\ndescription: Sheets\n---\n";

function folder(skills: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), "drover-skills-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const [id, document] of Object.entries(skills)) {
    mkdirSync(join(root, id));
    writeFileSync(join(root, id, "SKILL.md"), document);
    utimesSync(join(root, id, "SKILL.md"), 1_767_225_600, 1_767_225_600);
  }
  return root;
}

test("without a folder there are none", async () => {
  expect(await readInstalledSkills(undefined, new MemoryBlobs())).toEqual([]);
});

test("each folder is a skill under its own name, the same wherever it is read", async () => {
  const root = folder({ xlsx: DOCUMENT, pdf: DOCUMENT, ".git": "no skill" });
  writeFileSync(join(root, "README.md"), "no skill");
  const blobs = new MemoryBlobs();
  const skills = await readInstalledSkills(root, blobs);
  expect(skills).toEqual(await readInstalledSkills(root, new MemoryBlobs()));
  expect(skills.map(({ skill }) => skill.id)).toEqual(["pdf", "xlsx"]);
  const [, xlsx] = skills;
  expect(xlsx?.skill).toMatchObject({
    display_name: "claude-sheets",
    source: { type: "anthropic" },
    created_at: "2026-01-01T00:00:00.000Z",
    latest_version_id: xlsx?.version.id,
  });
  expect(xlsx?.version).toMatchObject({ name: "claude-sheets", description: "Sheets" });
  expect(await blobs.get(INSTALLED_WORKSPACE, xlsx?.blob.sha256 ?? "")).toBeDefined();
  writeFileSync(join(root, "xlsx", "more.md"), "more");
  const [pdf, changed] = await readInstalledSkills(root, blobs);
  expect(pdf).toEqual(skills[0]);
  expect(changed?.version.id).not.toBe(xlsx?.version.id);
});

test.each<[string, (root: string) => void, string]>([
  ["is not there", (root) => rmSync(root, { recursive: true }), "cannot be read"],
  ["holds one without SKILL.md", (root) => mkdirSync(join(root, "pptx")), "pptx is no skill"],
  ["holds one with a bad name", (root) => mkdirSync(join(root, "My Skill")), "is no skill"],
  [
    "holds one with a link",
    (root) => symlinkSync("/etc/passwd", join(root, "xlsx", "link")),
    "links, devices",
  ],
])("a folder that %s is the operator's to mend", async (_what, spoil, problem) => {
  const root = folder({ xlsx: DOCUMENT });
  spoil(root);
  const read = readInstalledSkills(root, new MemoryBlobs());
  await expect(read).rejects.toThrow(OperatorError);
  await expect(readInstalledSkills(root, new MemoryBlobs())).rejects.toThrow(problem);
  onTestFinished(() => void mkdirSync(root, { recursive: true }));
});
