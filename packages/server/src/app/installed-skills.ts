import type { Skill, SkillVersion } from "@drover/api";
import type { BlobRef } from "../core/ports/blobs.ts";
import type { PagePosition, PageRequest } from "../core/ports/sessions.ts";
import type { SkillPackage } from "./skill-packages.ts";

/** Where the files of installed skills are kept, which belong to no workspace. */
export const INSTALLED_WORKSPACE = "installed";

/** A skill that whoever runs the server put there for all workspaces. */
export interface InstalledSkill {
  readonly skill: Skill;
  readonly version: SkillVersion;
  readonly blob: BlobRef;
}

/** Characters of a content's hash that tell its version. */
const HASH_LENGTH = 24;

/** `id` is what agents name it by; the version's id comes from the content, so that all servers agree. */
export function installedSkill(
  id: string,
  createdAt: string,
  { slug, description, blob }: SkillPackage,
): InstalledSkill {
  const versionId = `skver_${blob.sha256.slice(0, HASH_LENGTH)}`;
  return {
    skill: {
      id,
      type: "skill",
      display_name: slug,
      latest_version_id: versionId,
      source: { type: "anthropic" },
      created_at: createdAt,
      updated_at: createdAt,
    },
    version: {
      id: versionId,
      type: "skill_version",
      skill_id: id,
      name: slug,
      description,
      created_at: createdAt,
    },
    blob,
  };
}

/** Those of a page, as if they lay in a table. */
export function installedPage(
  installed: readonly InstalledSkill[],
  page: PageRequest,
): readonly Skill[] {
  const { after, order } = page;
  const isLater = (skill: Skill) =>
    after === undefined ||
    (order === "asc" ? compared(skill, after) > 0 : compared(skill, after) < 0);
  return inOrder(installed.map(({ skill }) => skill).filter(isLater), page);
}

/** As many as the page takes, in its order. */
export function inOrder(skills: readonly Skill[], { order, limit }: PageRequest): readonly Skill[] {
  const ascending = skills.toSorted(compared);
  return (order === "asc" ? ascending : ascending.reverse()).slice(0, limit);
}

/** As the store compares text. */
function compared(a: PagePosition, b: PagePosition): number {
  if (a.created_at !== b.created_at) return a.created_at < b.created_at ? -1 : 1;
  if (a.id === b.id) return 0;
  return a.id < b.id ? -1 : 1;
}
