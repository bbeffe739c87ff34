import type { PageRequest } from "./sessions.ts";

/** A skill of a workspace. */
export interface SkillRecord {
  readonly workspace_id: string;
  readonly id: string;
  /** Its slug, which never changes. */
  readonly name: string;
  readonly display_name: string;
  readonly latest_version_id: string;
  readonly created_at: string;
  readonly updated_at: string;
}

export interface SkillVersionRecord {
  readonly workspace_id: string;
  readonly skill_id: string;
  readonly id: string;
  readonly description: string;
  /** Key of its files in the blob store: a zip archive with one folder, which has the skill's name. */
  readonly sha256: string;
  readonly size_bytes: number;
  /** Later than that of every version before it. */
  readonly created_at: string;
}

export interface Skills {
  find(workspaceId: string, id: string): Promise<SkillRecord | undefined>;
  list(workspaceId: string, page: PageRequest): Promise<readonly SkillRecord[]>;
  findVersion(
    workspaceId: string,
    skillId: string,
    id: string,
  ): Promise<SkillVersionRecord | undefined>;
  listVersions(
    workspaceId: string,
    skillId: string,
    page: PageRequest,
  ): Promise<readonly SkillVersionRecord[]>;
}

export interface SkillWriter extends Skills {
  /** Stores a skill, or its new latest version and time of change; the rest never changes. */
  put(skill: SkillRecord): Promise<void>;
  insertVersion(version: SkillVersionRecord): Promise<void>;
  /** The version's content becomes loose. */
  deleteVersion(workspaceId: string, skillId: string, id: string): Promise<void>;
  /** With all its versions, as `deleteVersion`. */
  delete(workspaceId: string, id: string): Promise<void>;
}
