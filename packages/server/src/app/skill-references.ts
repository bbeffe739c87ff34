import type { AgentSkill, AgentSkillParams } from "@drover/api";
import { InvalidRequestError, NotFoundError } from "../core/errors.ts";
import type { SkillMount } from "../core/ports/hands.ts";
import type { Store } from "../core/ports/store.ts";
import type { InstalledSkill } from "./installed-skills.ts";

/** Looks skills up that agents name. */
export interface SkillReferences {
  /**
   * The same skills, each with the version that is meant by it now. Rejects with `NotFoundError` for
   * a skill or version that is not there, and with `InvalidRequestError` for one that is named twice;
   * both name the place, which `path` begins.
   */
  pinned<T extends readonly AgentSkillParams[] | null | undefined>(
    tx: SkillLookup,
    workspaceId: string,
    skills: T,
    path?: string,
  ): Promise<T | AgentSkillParams[]>;
  /**
   * How the skills of a new session are mounted, each with the version it is pinned to. Rejects with
   * `NotFoundError` for a skill or version that is gone by now, and with `InvalidRequestError` for two
   * that have one name, for there is one place for both.
   */
  mounts(
    tx: SkillLookup,
    workspaceId: string,
    skills: readonly AgentSkill[],
  ): Promise<readonly SkillMount[]>;
}

type SkillLookup = Pick<Store, "skills">;

export function createSkillReferences(installed: readonly InstalledSkill[]): SkillReferences {
  return {
    pinned: async (tx, workspaceId, skills, path = "skills") => {
      if (skills === null || skills === undefined) return skills;
      assertDistinct(skills, path);
      const pinned: AgentSkillParams[] = [];
      for (const [index, skill] of skills.entries()) {
        const place = `${path}.${index}`;
        const version =
          skill.type === "anthropic"
            ? findInstalled(installed, skill, place).version.id
            : await customVersion(tx, workspaceId, skill, place);
        pinned.push({ ...skill, version });
      }
      return pinned;
    },
    mounts: async (tx, workspaceId, skills) => {
      const mounts: SkillMount[] = [];
      for (const [index, skill] of skills.entries()) {
        const place = `agent.skills.${index}`;
        const mount =
          skill.type === "anthropic"
            ? installedMount(installed, skill, place)
            : await customMount(tx, workspaceId, skill, place);
        if (mounts.some(({ mount_path }) => mount_path === mount.mount_path)) {
          throw new InvalidRequestError(`${place}: two skills have the place ${mount.mount_path}`);
        }
        mounts.push(mount);
      }
      return mounts;
    },
  };
}

function installedMount(
  installed: readonly InstalledSkill[],
  skill: AgentSkill,
  place: string,
): SkillMount {
  const { version, blob } = findInstalled(installed, skill, place);
  const { name, description } = version;
  return { type: "skill", mount_path: placeOf(name), ...blob, source: "installed", description };
}

async function customMount(
  tx: SkillLookup,
  workspaceId: string,
  { skill_id, version }: AgentSkill,
  place: string,
): Promise<SkillMount> {
  const { name } = await getSkill(tx, workspaceId, skill_id, place);
  const found = await getVersion(tx, workspaceId, { skill_id, version, place });
  const { sha256, size_bytes, description } = found;
  const mount_path = placeOf(name);
  return { type: "skill", mount_path, sha256, size_bytes, source: "workspace", description };
}

function placeOf(name: string): string {
  return `/mnt/skills/${name}`;
}

function findInstalled(
  installed: readonly InstalledSkill[],
  { skill_id, version }: AgentSkillParams,
  place: string,
): InstalledSkill {
  const found = installed.find(({ skill }) => skill.id === skill_id);
  if (found === undefined) {
    throw new NotFoundError(
      `${place}.skill_id: Anthropic's skill ${skill_id} is not installed here; whoever runs the server can put a folder of that name into the one that DROVER_SKILLS names`,
    );
  }
  const latest = found.skill.latest_version_id;
  if (!isLatest(version) && version !== latest) throw noVersion(place, skill_id, version);
  return found;
}

async function customVersion(
  tx: SkillLookup,
  workspaceId: string,
  { skill_id, version }: AgentSkillParams,
  place: string,
): Promise<string> {
  const { latest_version_id } = await getSkill(tx, workspaceId, skill_id, place);
  if (isLatest(version)) return latest_version_id;
  return (await getVersion(tx, workspaceId, { skill_id, version, place })).id;
}

async function getSkill(tx: SkillLookup, workspaceId: string, id: string, place: string) {
  const record = await tx.skills.find(workspaceId, id);
  if (record !== undefined) return record;
  throw new NotFoundError(`${place}.skill_id: there is no skill ${id}`);
}

async function getVersion(
  tx: SkillLookup,
  workspaceId: string,
  { skill_id, version, place }: { skill_id: string; version: string; place: string },
) {
  const found = await tx.skills.findVersion(workspaceId, skill_id, version);
  if (found === undefined) throw noVersion(place, skill_id, version);
  return found;
}

function isLatest(version: string | null | undefined): version is "latest" | null | undefined {
  return version === undefined || version === null || version === "latest";
}

function noVersion(place: string, id: string, version: string): NotFoundError {
  return new NotFoundError(`${place}.version: skill ${id} has no version ${version}`);
}

function assertDistinct(skills: readonly AgentSkillParams[], path: string): void {
  const seen = new Set<string>();
  for (const [index, { skill_id }] of skills.entries()) {
    if (seen.has(skill_id)) {
      throw new InvalidRequestError(`${path}.${index}.skill_id: ${skill_id} is named twice`);
    }
    seen.add(skill_id);
  }
}
