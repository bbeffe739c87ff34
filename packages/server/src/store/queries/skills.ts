import type { PageRequest } from "../../core/ports/sessions.ts";
import type {
  SkillRecord,
  Skills,
  SkillVersionRecord,
  SkillWriter,
} from "../../core/ports/skills.ts";
import { allOf, type SqlRunner, type SqlTransaction, sql } from "../sql.ts";
import { addLooseBlobsOf } from "./loose-blobs.ts";
import { afterPosition, pageEnd } from "./pages.ts";

const COLUMNS = sql`
  workspace_id, id, name, display_name, latest_version_id, created_at, updated_at`;
const VERSION_COLUMNS = sql`
  workspace_id, skill_id, id, description, sha256, size_bytes, created_at`;

export function skillReader(db: SqlRunner): Skills {
  return {
    find: (workspaceId, id) =>
      db.get<SkillRecord>(sql`
        select ${COLUMNS} from skills where workspace_id = ${workspaceId} and id = ${id}`),
    list: (workspaceId, page) =>
      db.all<SkillRecord>(sql`
        select ${COLUMNS} from skills
        where workspace_id = ${workspaceId} and ${allOf([afterPosition(page)])}
        ${pageEnd(page)}`),
    findVersion: (workspaceId, skillId, id) =>
      db.get<SkillVersionRecord>(sql`
        select ${VERSION_COLUMNS} from skill_versions
        where workspace_id = ${workspaceId} and skill_id = ${skillId} and id = ${id}`),
    listVersions: (workspaceId, skillId, page) => listVersions(db, workspaceId, skillId, page),
  };
}

export function skillWriter(tx: SqlTransaction): SkillWriter {
  return {
    ...skillReader(tx.db),
    put: (skill) => putSkill(tx, skill),
    insertVersion: (version) => insertVersion(tx, version),
    deleteVersion: (workspaceId, skillId, id) => deleteVersion(tx, workspaceId, skillId, id),
    delete: (workspaceId, id) => deleteSkill(tx, workspaceId, id),
  };
}

async function listVersions(
  db: SqlRunner,
  workspaceId: string,
  skillId: string,
  page: PageRequest,
): Promise<readonly SkillVersionRecord[]> {
  return await db.all(sql`
    select ${VERSION_COLUMNS} from skill_versions
    where workspace_id = ${workspaceId} and skill_id = ${skillId} and ${allOf([afterPosition(page)])}
    ${pageEnd(page)}`);
}

async function putSkill(tx: SqlTransaction, skill: SkillRecord): Promise<void> {
  await tx.db.all(sql`
    insert into skills (${COLUMNS})
    values (
      ${skill.workspace_id}, ${skill.id}, ${skill.name}, ${skill.display_name},
      ${skill.latest_version_id}, ${skill.created_at}, ${skill.updated_at}
    )
    on conflict (workspace_id, id) do update set
      latest_version_id = excluded.latest_version_id, updated_at = excluded.updated_at`);
}

async function insertVersion(tx: SqlTransaction, version: SkillVersionRecord): Promise<void> {
  await tx.db.all(sql`
    insert into skill_versions (${VERSION_COLUMNS})
    values (
      ${version.workspace_id}, ${version.skill_id}, ${version.id}, ${version.description},
      ${version.sha256}, ${version.size_bytes}, ${version.created_at}
    )`);
}

async function deleteVersion(
  tx: SqlTransaction,
  workspaceId: string,
  skillId: string,
  id: string,
): Promise<void> {
  const condition = sql`workspace_id = ${workspaceId} and skill_id = ${skillId} and id = ${id}`;
  await addLooseBlobsOf(tx, sql`skill_versions`, condition);
  await tx.db.all(sql`delete from skill_versions where ${condition}`);
}

async function deleteSkill(tx: SqlTransaction, workspaceId: string, id: string): Promise<void> {
  const condition = sql`workspace_id = ${workspaceId} and skill_id = ${id}`;
  await addLooseBlobsOf(tx, sql`skill_versions`, condition);
  await tx.db.all(sql`delete from skill_versions where ${condition}`);
  await tx.db.all(sql`delete from skills where workspace_id = ${workspaceId} and id = ${id}`);
}
