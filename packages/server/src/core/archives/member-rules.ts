import { type ArchiveMember, isBomb } from "../../lib/archive/archive.ts";
import { InvalidRequestError, RequestTooLargeError } from "../errors.ts";

/** Members of an archive, folders included. */
export const MEMBERS_MAX = 1_000;
/** Bytes of all contents together, unpacked: what the hosted service takes. */
export const CONTENT_BYTES_MAX = 30 * 1024 * 1024;
/** Bytes of a name between two slashes: what file systems allow. */
const SEGMENT_BYTES_MAX = 255;
/** Bytes of a path, so that it can be mounted anywhere. */
const PATH_BYTES_MAX = 1_024;
const DEPTH_MAX = 32;
const QUOTED_MAX = 100;

/** Control characters, halves of pairs, line separators, what turns the direction of text, and what stands for broken UTF-8. */
const UNSAFE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069\ufffd]/u;

const utf8 = new TextEncoder();

/**
 * Refuses an archive whole if any of its members could be written outside of its folder, over another
 * one, or could be something else than a file or a folder, or if all are more than fits. Sentences
 * begin with `files:` and name the member.
 */
export function assertMembers(members: readonly ArchiveMember[]): void {
  if (members.length > MEMBERS_MAX) {
    throw new InvalidRequestError(`files: more than ${MEMBERS_MAX} members`);
  }
  const names = new Names();
  let size = 0;
  for (const member of members) {
    const problem = problemOf(member) ?? names.add(member);
    if (problem !== undefined) refuse(member.path, problem);
    size += member.size;
    if (size > CONTENT_BYTES_MAX) {
      throw new RequestTooLargeError(
        `files: the content is larger than ${CONTENT_BYTES_MAX} bytes in all`,
      );
    }
  }
}

/** As `assertMembers`, for one path before its content is there. */
export function assertPath(path: string): void {
  const problem = problemInPath(path);
  if (problem !== undefined) refuse(path, problem);
}

/** Why a path cannot be a member's, as a phrase; undefined if it can. One slash at the end is free. */
export function problemInPath(path: string): string | undefined {
  if (UNSAFE.test(path)) return "a name must not hold control characters or broken UTF-8";
  if (path.includes("\\")) return "a name must not hold backslashes";
  if (path.startsWith("/") || /^[a-z]:/i.test(path)) return "a name must not be absolute";
  if (utf8.encode(path).length > PATH_BYTES_MAX) {
    return `a path must be at most ${PATH_BYTES_MAX} bytes long`;
  }
  const segments = segmentsOf(path);
  if (segments.length > DEPTH_MAX) return `a path must be at most ${DEPTH_MAX} names deep`;
  for (const segment of segments) {
    if (segment.trim() === "") return "a path must not hold empty names";
    if (segment === "." || segment === "..") return "a path must not hold . or ..";
    if (utf8.encode(segment).length > SEGMENT_BYTES_MAX) {
      return `a name must be at most ${SEGMENT_BYTES_MAX} bytes long`;
    }
  }
  return undefined;
}

function problemOf(member: ArchiveMember): string | undefined {
  if (member.kind === "other") return "links, devices and pipes are not taken";
  if (member.isEncrypted) return "it is encrypted";
  if (!Number.isSafeInteger(member.size) || member.size < 0) return "its size makes no sense";
  if (member.kind === "folder" && member.size > 0) return "a folder has no content";
  if (isBomb(member.size, member.packedSize ?? member.size)) {
    return "it is packed so tightly that it looks like a bomb";
  }
  return problemInPath(member.path);
}

/** The names of one archive, as a file system that minds neither case nor normal form sees them. */
class Names {
  readonly #files = new Set<string>();
  /** How each folder was spelled first. */
  readonly #folders = new Map<string, string>();

  /** A phrase if the member cannot be there beside those before it. */
  add({ path, kind }: ArchiveMember): string | undefined {
    const segments = segmentsOf(path);
    const above = kind === "folder" ? segments.length : segments.length - 1;
    for (let depth = 1; depth <= above; depth += 1) {
      const folder = segments.slice(0, depth).join("/");
      const key = foldedName(folder);
      if (this.#files.has(key)) return "a file and a folder have the same name";
      const first = this.#folders.get(key);
      if (first !== undefined && first !== folder) return "a folder is spelled in two ways";
      this.#folders.set(key, folder);
    }
    if (kind === "folder") return undefined;
    const key = foldedName(path);
    if (this.#folders.has(key)) return "a file and a folder have the same name";
    if (this.#files.has(key)) return "another file has the same name";
    this.#files.add(key);
    return undefined;
  }
}

function segmentsOf(path: string): string[] {
  return path.replace(/\/$/, "").split("/");
}

/** Upper case first, because several small letters share a large one. */
function foldedName(path: string): string {
  return path.normalize("NFC").toUpperCase().toLowerCase().normalize("NFC");
}

function refuse(path: string, problem: string): never {
  throw new InvalidRequestError(`files: ${quoted(path)}: ${problem}`);
}

/** The start of a name, such that it breaks no line and no terminal. */
function quoted(path: string): string {
  const start = path.length > QUOTED_MAX ? `${path.slice(0, QUOTED_MAX)}…` : path;
  return JSON.stringify(start.toWellFormed()).replaceAll(
    /[^\x20-\x7e…]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
