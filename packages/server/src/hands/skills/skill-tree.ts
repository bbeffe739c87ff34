import { constants } from "node:fs";
import { chmod, copyFile, link, lstat, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { SkillMount } from "../../core/ports/hands.ts";
import { SandboxUnavailableError } from "../../core/ports/sandbox.ts";
import { makeFolder } from "./extract-skill.ts";
import type { SkillCache } from "./skill-cache.ts";

export const SKILLS_FOLDER = "/mnt/skills";
/** As the contract has it, of all agents of a session together. */
const SKILLS_MAX = 500;
const NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const NAME_LENGTH_MAX = 64;

export interface SkillTreeOptions {
  /** What becomes the sandbox's `/mnt/skills`; what lies there is made anew. */
  readonly folder: string;
  readonly cache: SkillCache;
  readonly workspaceId: string;
  readonly mounts: readonly SkillMount[];
  readonly blobPath: (workspaceId: string, sha256: string) => string;
  readonly installedPath: ((sha256: string) => string) | undefined;
}

/**
 * A folder with all skills of a hand, shown read-only as a whole. Files are hard links to those that
 * were unpacked once for everybody. It is made anew for each sandbox: a process that dies in between
 * leaves nothing that is believed. Undefined without skills. Rejects with `SandboxUnavailableError`.
 */
export async function makeSkillTree(options: SkillTreeOptions): Promise<string | undefined> {
  const { folder, mounts, cache } = options;
  await rm(folder, { recursive: true, force: true });
  if (mounts.length === 0) return undefined;
  const names = namesOf(mounts);
  await makeFolder(folder);
  for (const [index, mount] of mounts.entries()) {
    const name = names[index] ?? "";
    const zip = archiveOf(options, mount, name);
    await assertThere(zip, name);
    const owner = mount.source === "installed" ? "installed skills" : options.workspaceId;
    const skill = { key: `${owner}/${mount.sha256}/${name}`, name, zip };
    await cache.use(skill, (unpacked) => linkTree(unpacked, join(folder, name)));
  }
  return folder;
}

function archiveOf(options: SkillTreeOptions, mount: SkillMount, name: string): string {
  if (mount.source === "workspace") return options.blobPath(options.workspaceId, mount.sha256);
  const { installedPath } = options;
  if (installedPath === undefined) {
    throw new SandboxUnavailableError(`the skill ${name} is not installed on this machine`);
  }
  return installedPath(mount.sha256);
}

async function assertThere(zip: string, name: string): Promise<void> {
  try {
    await lstat(zip);
  } catch (cause) {
    throw new SandboxUnavailableError(`the files of the skill ${name} cannot be had`, { cause });
  }
}

/** Throws for all that is not plainly below the folder, and for two that would be one. */
function namesOf(mounts: readonly SkillMount[]): readonly string[] {
  if (mounts.length > SKILLS_MAX) {
    throw new SandboxUnavailableError(`${mounts.length} skills are more than ${SKILLS_MAX}`);
  }
  const names = mounts.map(({ mount_path: path }) => {
    const name = path.slice(SKILLS_FOLDER.length + 1);
    const isPlain = NAME.test(name) && name.length <= NAME_LENGTH_MAX;
    if (isPlain && path === `${SKILLS_FOLDER}/${name}`) return name;
    const shown = JSON.stringify(path.slice(0, 200));
    throw new SandboxUnavailableError(`${shown} is not the place of a skill`);
  });
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return names;
  throw new SandboxUnavailableError(`two skills meet at ${SKILLS_FOLDER}/${twice}`);
}

/** Both are out of every sandbox's reach, and what was unpacked has files and folders alone. */
async function linkTree(from: string, to: string): Promise<void> {
  await makeFolder(to);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await linkTree(source, target);
    else await linkOrCopy(source, target);
  }
}

/** A copy where a file has as many links as it can have, or the file system has none. */
async function linkOrCopy(source: string, target: string): Promise<void> {
  const isLinked = await link(source, target).then(
    () => true,
    () => false,
  );
  if (isLinked) return;
  await copyFile(source, target, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
  await chmod(target, (await lstat(source)).mode & 0o555);
}
