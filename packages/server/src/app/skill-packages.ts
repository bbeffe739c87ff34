import { assertMembers, CONTENT_BYTES_MAX, MEMBERS_MAX } from "../core/archives/member-rules.ts";
import { InvalidRequestError } from "../core/errors.ts";
import type { BlobRef, Blobs } from "../core/ports/blobs.ts";
import {
  FRONTMATTER_BYTES_MAX,
  SKILL_DOCUMENT,
  type SkillManifest,
  skillFolder,
  skillManifest,
} from "../core/skills/manifest.ts";
import { type Archive, ArchiveError, type ArchiveLimits } from "../lib/archive/archive.ts";
import { type ZipInput, zipOf } from "../lib/archive/zip-stream.ts";
import { parseFrontmatter } from "./skill-frontmatter.ts";

/** A skill's files, checked and stored. */
export interface SkillPackage extends SkillManifest {
  /** A zip archive with one folder, named after the slug. */
  readonly blob: BlobRef;
}

export const SKILL_LIMITS: ArchiveLimits = { membersMax: MEMBERS_MAX, bytesMax: CONTENT_BYTES_MAX };

interface PackageOptions {
  readonly blobs: Pick<Blobs, "put">;
  readonly workspaceId: string;
  readonly openArchive: () => Promise<Archive>;
  readonly allowReserved?: boolean;
}

/**
 * Checks a skill's files whole and then stores them as one archive: of what is refused nothing is
 * stored. Rejects with an `InvalidRequestError` that begins with `files:`.
 */
export async function storePackage(options: PackageOptions): Promise<SkillPackage> {
  try {
    await using archive = await options.openArchive();
    assertMembers(archive.members);
    const folder = skillFolder(archive.members);
    const frontmatter = parseFrontmatter(
      await readDocument(archive, `${folder}/${SKILL_DOCUMENT}`),
    );
    const { allowReserved = false } = options;
    const manifest = skillManifest(frontmatter, folder, { allowReserved });
    const files = filesUnder(manifest.slug, folder, archive);
    const blob = await options.blobs.put(options.workspaceId, zipOf(files));
    return { ...manifest, blob };
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    throw new InvalidRequestError(`files: the archive ${error.message}`, { cause: error });
  }
}

async function* filesUnder(
  slug: string,
  folder: string,
  archive: Archive,
): AsyncGenerator<ZipInput> {
  for await (const { member, bytes } of archive.contents()) {
    const path = `${slug}${member.path.slice(folder.length)}`;
    yield { path, isExecutable: member.isExecutable, bytes };
  }
}

/** The start of the document, as far as frontmatter may go. */
async function readDocument(archive: Archive, path: string): Promise<string> {
  for await (const { member, bytes } of archive.contents()) {
    if (member.path === path) return decode(await readStart(bytes, FRONTMATTER_BYTES_MAX));
  }
  throw new Error(`${path} is a member without content`);
}

async function readStart(bytes: AsyncIterable<Uint8Array>, max: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of bytes) {
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size >= max) break;
  }
  return Buffer.concat(chunks).subarray(0, max);
}

function decode(bytes: Uint8Array): string {
  try {
    // The last character may be cut in two.
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
  } catch (cause) {
    throw new InvalidRequestError(`files: ${SKILL_DOCUMENT} is not valid UTF-8`, { cause });
  }
}
