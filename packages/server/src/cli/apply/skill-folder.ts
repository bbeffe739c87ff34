import { createHash } from "node:crypto";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { parseFrontmatter } from "../../app/skill-frontmatter.ts";
import { SKILL_LIMITS } from "../../app/skill-packages.ts";
import { assertMembers } from "../../core/archives/member-rules.ts";
import { SKILL_DOCUMENT, skillFolder, skillManifest } from "../../core/skills/manifest.ts";
import { type Archive, ArchiveError } from "../../lib/archive/archive.ts";
import { archiveOfFolder } from "../../lib/archive/file-archive.ts";
import { openArchive } from "../../lib/archive/open-archive.ts";
import { DefinitionError } from "./definition-error.ts";
import type { SkillDefinition } from "./definitions.ts";
import type { NamedSkill, ServerState } from "./server-state.ts";

/** Content by path, without the folder that all are in. */
type Files = ReadonlyMap<string, Uint8Array>;

export interface SkillFolder {
  readonly slug: string;
  readonly files: Files;
}

/** Reads the folder that a definition names. Throws `DefinitionError`, or what the API throws. */
export async function readSkillFolder({ params, source }: SkillDefinition): Promise<SkillFolder> {
  const folder = resolve(dirname(source.file), params.path);
  const stats = await stat(folder).catch(() => undefined);
  if (stats?.isDirectory() !== true) {
    throw new DefinitionError(["path"], `path: there is no folder ${folder}`);
  }
  try {
    await using archive = await archiveOfFolder(folder, basename(folder), SKILL_LIMITS);
    assertMembers(archive.members);
    const top = skillFolder(archive.members);
    const files = await filesOf(archive);
    const document = Buffer.from(files.get(SKILL_DOCUMENT) ?? []).toString();
    return { slug: skillManifest(parseFrontmatter(document), top).slug, files };
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    throw new DefinitionError(["path"], `path: the folder ${error.message}`);
  }
}

/** What the server has of the skill's latest version. */
export async function downloadedFiles(state: ServerState, skill: NamedSkill): Promise<Files> {
  const folder = await mkdtemp(join(tmpdir(), "drover-apply-"));
  try {
    const path = join(folder, "skill");
    await state.download(skill, path);
    await using archive = await openArchive(path, SKILL_LIMITS);
    return await filesOf(archive);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** One line a file: enough to see what changed. */
export function listing(files: Files): string {
  const lines = [...files].map(([path, bytes]) => {
    const digest = createHash("sha256").update(bytes).digest("hex").slice(0, 12);
    return `${path}: ${bytes.byteLength} bytes, sha256 ${digest}…\n`;
  });
  return lines.sort().join("");
}

async function filesOf(archive: Archive): Promise<Files> {
  const files = new Map<string, Uint8Array>();
  for await (const { member, bytes } of archive.contents()) {
    const path = member.path.slice(member.path.indexOf("/") + 1);
    const chunks: Uint8Array[] = [];
    for await (const chunk of bytes) chunks.push(chunk);
    files.set(path, Buffer.concat(chunks));
  }
  return files;
}
