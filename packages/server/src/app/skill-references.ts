import type { AgentSkillParams } from "@drover/api";
import { InvalidRequestError, NotFoundError } from "../core/errors.ts";
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
            ? installedVersion(installed, skill, place)
            : await customVersion(tx, workspaceId, skill, place);
        pinned.push({ ...skill, version });
      }
      return pinned;
    },
  };
}

function installedVersion(
  installed: readonly InstalledSkill[],
  { skill_id, version }: AgentSkillParams,
  place: string,
): string {
  const found = installed.find(({ skill }) => skill.id === skill_id);
  if (found === undefined) {
    throw new NotFoundError(
      `${place}.skill_id: Anthropic's skill ${skill_id} is not installed here; whoever runs the server can put a folder of that name into the one that DROVER_SKILLS names`,
    );
  }
  const latest = found.skill.latest_version_id;
  if (!isLatest(version) && version !== latest) throw noVersion(place, skill_id, version);
  return latest;
}

async function customVersion(
  tx: SkillLookup,
  workspaceId: string,
  { skill_id, version }: AgentSkillParams,
  place: string,
): Promise<string> {
  const record = await tx.skills.find(workspaceId, skill_id);
  if (record === undefined) {
    throw new NotFoundError(`${place}.skill_id: there is no skill ${skill_id}`);
  }
  if (isLatest(version)) return record.latest_version_id;
  const found = await tx.skills.findVersion(workspaceId, skill_id, version);
  if (found === undefined) throw noVersion(place, skill_id, version);
  return found.id;
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
