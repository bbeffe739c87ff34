import type { ArchiveMember } from "../../lib/archive/archive.ts";
import { InvalidRequestError } from "../errors.ts";

/** What must be at the root of a skill's folder, spelled so. */
export const SKILL_DOCUMENT = "SKILL.md";
const NAME_MAX = 64;
const DESCRIPTION_MAX = 1_024;
const RESERVED = ["anthropic", "claude"];
/** Bytes from the start of SKILL.md in which its frontmatter must end. */
export const FRONTMATTER_BYTES_MAX = 8 * 1024;

/** What a skill says of itself. */
export interface SkillManifest {
  /** Names the folder in which its files are mounted and downloaded. */
  readonly slug: string;
  readonly description: string;
}

/**
 * The one folder that all members are in, with a SKILL.md at its root. Members must have passed
 * `assertMembers`.
 */
export function skillFolder(members: readonly ArchiveMember[]): string {
  const [first] = members;
  if (first === undefined) throw new InvalidRequestError("files: there are none");
  const folder = first.path.split("/")[0] ?? "";
  for (const { path, kind } of members) {
    const isIn = path.startsWith(`${folder}/`) || (kind === "folder" && path === folder);
    if (isIn) continue;
    throw new InvalidRequestError(
      `files: all must be in one folder, as in my-skill/${SKILL_DOCUMENT}: ${JSON.stringify(path)} is not in ${JSON.stringify(folder)}`,
    );
  }
  const document = `${folder}/${SKILL_DOCUMENT}`;
  if (!members.some(({ path, kind }) => kind === "file" && path === document)) {
    const other = members.find(({ path }) => path.toLowerCase() === document.toLowerCase());
    const hint = other === undefined ? "" : `, spelled so and not ${JSON.stringify(other.path)}`;
    throw new InvalidRequestError(`files: there must be ${JSON.stringify(document)}${hint}`);
  }
  return folder;
}

/** The YAML between the lines `---` at the start of SKILL.md. */
export function frontmatterOf(text: string): string {
  const found = /^\ufeff?---[ \t]*\r?\n(.*?\n|)---[ \t]*(?:\r?\n|$)/s.exec(text)?.[1];
  if (found === undefined) {
    throw invalid(
      `must begin with frontmatter of at most ${FRONTMATTER_BYTES_MAX} bytes: ---, then name and description, then ---`,
    );
  }
  return found;
}

/**
 * The manifest from the frontmatter, which was read as text alone, and the name of the enclosing
 * folder, which stands in for a name that is left out. Only whoever runs the server may use reserved words.
 */
export function skillManifest(
  frontmatter: unknown,
  folder: string,
  { allowReserved = false } = {},
): SkillManifest {
  if (typeof frontmatter !== "object" || frontmatter === null || Array.isArray(frontmatter)) {
    throw invalid("must begin with frontmatter that holds name and description");
  }
  const fields = new Map<string, unknown>(Object.entries(frontmatter));
  const slug = fields.get("name") ?? folder;
  assertName(slug, fields.has("name") ? "name" : "name (the folder's, as none is given)");
  const reserved = RESERVED.find((word) => slug.includes(word));
  if (reserved !== undefined && !allowReserved) {
    throw invalid(`name: must not hold the reserved word ${reserved}`);
  }
  return { slug, description: descriptionOf(fields.get("description")) };
}

function assertName(name: unknown, field: string): asserts name is string {
  if (typeof name !== "string" || name === "") throw invalid(`${field}: must be a text`);
  if (name.length > NAME_MAX) throw invalid(`${field}: must be at most ${NAME_MAX} characters`);
  if (!/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name)) {
    throw invalid(`${field}: must be small letters, digits and single hyphens between them`);
  }
}

function descriptionOf(value: unknown): string {
  if (typeof value !== "string" || value.trim() === "") {
    throw invalid("description: must be a text that is not empty");
  }
  const description = value.trim();
  if (description.length > DESCRIPTION_MAX) {
    throw invalid(`description: must be at most ${DESCRIPTION_MAX} characters`);
  }
  if (/<\/?[a-z][^<>]*>/i.test(description)) throw invalid("description: must not hold XML tags");
  if (/\0|\p{Cs}/u.test(description)) throw invalid("description: must not hold NUL");
  return description;
}

function invalid(problem: string): InvalidRequestError {
  return new InvalidRequestError(`files: ${SKILL_DOCUMENT} ${problem}`);
}
