import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import {
  INSTALLED_WORKSPACE,
  type InstalledSkill,
  installedSkill,
} from "../app/installed-skills.ts";
import { SKILL_LIMITS, storePackage } from "../app/skill-packages.ts";
import { PlatformError } from "../core/errors.ts";
import type { Blobs } from "../core/ports/blobs.ts";
import { SKILL_DOCUMENT } from "../core/skills/manifest.ts";
import { archiveOfFolder } from "../lib/archive/file-archive.ts";
import { OperatorError } from "../lib/operator-error.ts";

const ID = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/**
 * The skills in the folders of `root`, each under its folder's name, checked as uploads are and copied
 * into the blob store; none without a root. Hidden folders are left out. Rejects with `OperatorError`.
 */
export async function readInstalledSkills(
  root: string | undefined,
  blobs: Pick<Blobs, "put">,
): Promise<readonly InstalledSkill[]> {
  if (root === undefined) return [];
  const skills: InstalledSkill[] = [];
  for (const entry of await foldersOf(root)) skills.push(await readSkill(root, entry, blobs));
  return skills;
}

async function foldersOf(root: string): Promise<string[]> {
  try {
    const entries = await readdir(root, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
      .map(({ name }) => name)
      .sort();
  } catch (cause) {
    throw new OperatorError(`DROVER_SKILLS: the folder ${root} cannot be read.`, { cause });
  }
}

async function readSkill(
  root: string,
  id: string,
  blobs: Pick<Blobs, "put">,
): Promise<InstalledSkill> {
  const folder = join(root, id);
  try {
    if (!ID.test(id)) throw new OperatorError("a folder's name must be small letters and digits");
    const stored = await storePackage({
      blobs,
      workspaceId: INSTALLED_WORKSPACE,
      openArchive: () => archiveOfFolder(folder, id, SKILL_LIMITS),
      allowReserved: true,
    });
    const { mtime } = await stat(join(folder, SKILL_DOCUMENT));
    return installedSkill(id, mtime.toISOString(), stored);
  } catch (cause) {
    if (!(cause instanceof PlatformError || cause instanceof OperatorError)) throw cause;
    throw new OperatorError(`DROVER_SKILLS: ${folder} is no skill: ${cause.message}.`, { cause });
  }
}
