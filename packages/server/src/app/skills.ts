import {
  idPrefixes,
  type Page,
  type PageQuery,
  type Skill,
  type SkillDeleted,
  type SkillListQuery,
  type SkillVersion,
  type SkillVersionDeleted,
} from "@drover/api";
import { InvalidRequestError, NotFoundError } from "../core/errors.ts";
import type { BlobRef, Blobs } from "../core/ports/blobs.ts";
import type {
  Skills as SkillReader,
  SkillRecord,
  SkillVersionRecord,
} from "../core/ports/skills.ts";
import type { Store, StoreTransaction } from "../core/ports/store.ts";
import {
  INSTALLED_WORKSPACE,
  type InstalledSkill,
  inOrder,
  installedPage,
} from "./installed-skills.ts";
import { type Cursors, readPage } from "./pagination.ts";
import type { NewId, Principal } from "./principal.ts";
import type { SkillPackage } from "./skill-packages.ts";

const LATEST = "latest";
const NEWEST = { limit: 1, order: "desc" } as const;

export interface NewSkill {
  readonly displayName?: string | undefined;
  /** Its content is already in the blob store under the principal's workspace. */
  readonly package: SkillPackage;
}

export interface SkillContent {
  readonly version: SkillVersion;
  readonly size_bytes: number;
  /** A zip archive with one folder, named after the skill's slug. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** Skills of a workspace, and those that are installed for all of them, which can only be read. */
export interface Skills {
  create(tx: StoreTransaction, principal: Principal, skill: NewSkill): Promise<Skill>;
  retrieve(workspaceId: string, id: string): Promise<Skill>;
  /** Newest first. */
  list(workspaceId: string, query: SkillListQuery): Promise<Page<Skill>>;
  /** With all its versions. Agents keep naming them, and nothing can be started with those any more. */
  delete(tx: StoreTransaction, principal: Principal, id: string): Promise<SkillDeleted>;
  /** Rejects with `InvalidRequestError` if the files say another name than those before them. */
  createVersion(
    tx: StoreTransaction,
    principal: Principal,
    id: string,
    files: SkillPackage,
  ): Promise<SkillVersion>;
  /** `latest` is the newest. */
  retrieveVersion(workspaceId: string, id: string, version: string): Promise<SkillVersion>;
  /** Newest first. */
  listVersions(workspaceId: string, id: string, query: PageQuery): Promise<Page<SkillVersion>>;
  /** Rejects with `InvalidRequestError` for the only version: a skill always has one. */
  deleteVersion(
    tx: StoreTransaction,
    principal: Principal,
    id: string,
    version: string,
  ): Promise<SkillVersionDeleted>;
  download(workspaceId: string, id: string, version: string): Promise<SkillContent>;
  /** Lets content go that was stored for an upload which was refused. */
  discard(workspaceId: string, blob: BlobRef): Promise<void>;
}

interface SkillsOptions {
  readonly store: Store;
  readonly blobs: Pick<Blobs, "get">;
  readonly cursors: Cursors;
  readonly newId: NewId;
  readonly installedSkills: readonly InstalledSkill[];
}

export function createSkills(options: SkillsOptions): Skills {
  const { store, newId, installedSkills } = options;
  const findInstalled = (id: string) => installedSkills.find(({ skill }) => skill.id === id);
  const getOwn = async (tx: StoreTransaction, workspaceId: string, id: string) => {
    if (findInstalled(id) === undefined) return await getSkill(tx.skills, workspaceId, id);
    throw new InvalidRequestError(
      `skill ${id} is installed for all workspaces: it can only be read`,
    );
  };
  const retrieve = async (workspaceId: string, id: string) =>
    findInstalled(id)?.skill ?? skillOf(await getSkill(store.skills, workspaceId, id));
  const getVersion = async (workspaceId: string, id: string, versionId: string) => {
    const installed = findInstalled(id);
    if (installed === undefined) return await getStored(store.skills, workspaceId, id, versionId);
    const { version, blob } = installed;
    if (versionId !== version.id) throw noVersion(id, versionId);
    return { version, blob, workspaceId: INSTALLED_WORKSPACE };
  };
  return {
    create: (tx, { workspaceId }, skill) => createSkill({ tx, workspaceId, newId }, skill),
    retrieve,
    list: (workspaceId, query) => listSkills(options, workspaceId, query),
    delete: async (tx, { workspaceId }, id) => {
      await getOwn(tx, workspaceId, id);
      await tx.skills.delete(workspaceId, id);
      return { id, type: "skill_deleted" };
    },
    createVersion: async (tx, { workspaceId }, id, files) =>
      await addVersion(
        tx,
        await getOwn(tx, workspaceId, id),
        newId(idPrefixes.skillVersion),
        files,
      ),
    retrieveVersion: async (workspaceId, id, version) => {
      const isLatest = version === LATEST;
      const versionId = isLatest ? (await retrieve(workspaceId, id)).latest_version_id : version;
      return (await getVersion(workspaceId, id, versionId)).version;
    },
    listVersions: async (workspaceId, id, query) => {
      const installed = findInstalled(id);
      if (installed !== undefined) return { data: [installed.version], next_page: null };
      const skill = await getSkill(store.skills, workspaceId, id);
      return await listVersions(options, skill, query);
    },
    deleteVersion: async (tx, { workspaceId }, id, version) =>
      await deleteVersion(tx, await getOwn(tx, workspaceId, id), version),
    download: async (workspaceId, id, versionId) => {
      const { version, blob, ...found } = await getVersion(workspaceId, id, versionId);
      const bytes = await options.blobs.get(found.workspaceId, blob.sha256);
      if (bytes === undefined)
        throw new Error(`the files of skill version ${version.id} are missing`);
      return { version, size_bytes: blob.size_bytes, bytes };
    },
    discard: (workspaceId, { sha256 }) =>
      store.write((tx) => tx.looseBlobs.add(workspaceId, sha256)),
  };
}

async function createSkill(
  { tx, workspaceId, newId }: { tx: StoreTransaction; workspaceId: string; newId: NewId },
  { displayName, package: files }: NewSkill,
): Promise<Skill> {
  const record: SkillRecord = {
    workspace_id: workspaceId,
    id: newId(idPrefixes.skill),
    name: files.slug,
    display_name: displayName ?? files.slug,
    latest_version_id: newId(idPrefixes.skillVersion),
    created_at: tx.now,
    updated_at: tx.now,
  };
  await tx.skills.put(record);
  await tx.skills.insertVersion(versionRecord(record, record.latest_version_id, tx.now, files));
  return skillOf(record);
}

async function addVersion(
  tx: StoreTransaction,
  skill: SkillRecord,
  id: string,
  files: SkillPackage,
): Promise<SkillVersion> {
  if (files.slug !== skill.name) {
    throw new InvalidRequestError(
      `files: the name is ${files.slug}, but skill ${skill.id} is ${skill.name} in all its versions`,
    );
  }
  const [latest] = await tx.skills.listVersions(skill.workspace_id, skill.id, NEWEST);
  const version = versionRecord(skill, id, timeAfter(latest?.created_at, tx.now), files);
  await tx.skills.insertVersion(version);
  await tx.skills.put({ ...skill, latest_version_id: id, updated_at: tx.now });
  return versionOf(skill, version);
}

async function deleteVersion(
  tx: StoreTransaction,
  skill: SkillRecord,
  versionId: string,
): Promise<SkillVersionDeleted> {
  const { workspace_id, id } = skill;
  await getStored(tx.skills, workspace_id, id, versionId);
  await tx.skills.deleteVersion(workspace_id, id, versionId);
  const [latest] = await tx.skills.listVersions(workspace_id, id, NEWEST);
  if (latest === undefined) {
    throw new InvalidRequestError(
      `${versionId} is the only version of skill ${id}, which always has one: delete the skill`,
    );
  }
  await tx.skills.put({ ...skill, latest_version_id: latest.id, updated_at: tx.now });
  return { id: versionId, type: "skill_version_deleted" };
}

async function listSkills(
  { store, cursors, installedSkills }: SkillsOptions,
  workspaceId: string,
  query: SkillListQuery,
): Promise<Page<Skill>> {
  const { source } = query;
  const { data, next_page } = await readPage({
    cursors,
    scope: { workspaceId, list: "skills", order: "desc" },
    query,
    read: async (page) => {
      const isOwn = source === undefined || source === "custom";
      const isInstalled = source === undefined || source === "anthropic";
      const own = isOwn ? (await store.skills.list(workspaceId, page)).map(skillOf) : [];
      const installed = isInstalled ? installedPage(installedSkills, page) : [];
      return inOrder([...own, ...installed], page);
    },
    present: (skill) => skill,
  });
  return { data, next_page };
}

async function listVersions(
  { store, cursors }: SkillsOptions,
  skill: SkillRecord,
  query: PageQuery,
): Promise<Page<SkillVersion>> {
  const { workspace_id: workspaceId, id } = skill;
  const { data, next_page } = await readPage({
    cursors,
    scope: { workspaceId, list: `${id}/versions`, order: "desc" },
    query,
    read: (page) => store.skills.listVersions(workspaceId, id, page),
    present: (version) => versionOf(skill, version),
  });
  return { data, next_page };
}

/** Strictly later, so that the newest version is the one that was added last. */
function timeAfter(earlier: string | undefined, now: string): string {
  if (earlier === undefined || now > earlier) return now;
  return new Date(Date.parse(earlier) + 1).toISOString();
}

function versionRecord(
  skill: SkillRecord,
  id: string,
  createdAt: string,
  { description, blob }: SkillPackage,
): SkillVersionRecord {
  return {
    workspace_id: skill.workspace_id,
    skill_id: skill.id,
    id,
    description,
    sha256: blob.sha256,
    size_bytes: blob.size_bytes,
    created_at: createdAt,
  };
}

function skillOf(record: SkillRecord): Skill {
  const { id, display_name, latest_version_id, created_at, updated_at } = record;
  return {
    id,
    type: "skill",
    display_name,
    latest_version_id,
    source: { type: "custom" },
    created_at,
    updated_at,
  };
}

function versionOf(skill: SkillRecord, record: SkillVersionRecord): SkillVersion {
  const { id, description, created_at } = record;
  const { id: skill_id, name } = skill;
  return { id, type: "skill_version", skill_id, name, description, created_at };
}

async function getSkill(
  skills: Pick<SkillReader, "find">,
  workspaceId: string,
  id: string,
): Promise<SkillRecord> {
  const record = await skills.find(workspaceId, id);
  if (record === undefined) throw new NotFoundError(`there is no skill ${id}`);
  return record;
}

async function getStored(skills: SkillReader, workspaceId: string, id: string, versionId: string) {
  const skill = await getSkill(skills, workspaceId, id);
  const record = await skills.findVersion(workspaceId, id, versionId);
  if (record === undefined) throw noVersion(id, versionId);
  const { sha256, size_bytes } = record;
  return { version: versionOf(skill, record), blob: { sha256, size_bytes }, workspaceId };
}

function noVersion(id: string, versionId: string): NotFoundError {
  return new NotFoundError(`skill ${id} has no version ${versionId}`);
}
