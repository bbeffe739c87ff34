import { memoryPathBytesMax } from "@drover/api";
import { InvalidRequestError } from "../errors.ts";

/**
 * Paths of memories: `/projects/foo/notes.md`. A folder is a path that ends with `/`; it is where
 * memories lie and nothing by itself. Paths compare by the bytes of their UTF-8, everywhere.
 */

const SEGMENTS_MAX = 20;

const UNPRINTABLE = /[\p{Cc}\p{Cf}\u2028\u2029]/u;

/** Rejects what is not a path, in a sentence that begins with the field. */
export function assertPath(path: string, field: string): void {
  const problem = pathProblem(path);
  if (problem !== undefined) throw new InvalidRequestError(`${field}: ${problem}`);
}

/** Rejects what is not a folder: `/`, or a path and a `/`. */
export function assertFolder(folder: string, field: string): void {
  if (!folder.endsWith("/")) throw new InvalidRequestError(`${field}: must end with /`);
  if (folder !== "/") assertPath(folder.slice(0, -1), field);
}

/** The paths above, from the top: `/a` and `/a/b` for `/a/b/c`. */
export function ancestorsOf(path: string): readonly string[] {
  const segments = path.split("/").slice(1, -1);
  return segments.map((_, index) => `/${segments.slice(0, index + 1).join("/")}`);
}

/** The first text, by bytes, that is greater than every path in the folder: `/` is followed by `0`. */
export function endOf(folder: string): string {
  return `${folder.slice(0, -1)}0`;
}

/** The folder directly in `folder` through which the path leads; undefined if it lies in it itself. */
export function folderBelow(folder: string, path: string): string | undefined {
  const slash = path.indexOf("/", folder.length);
  return slash === -1 ? undefined : path.slice(0, slash + 1);
}

/** Why it is not a path; undefined if it is one. */
export function pathProblem(path: string): string | undefined {
  if (!path.startsWith("/")) return "must start with /";
  if (new TextEncoder().encode(path).length > memoryPathBytesMax) {
    return `must be at most ${memoryPathBytesMax} bytes of UTF-8`;
  }
  const segments = path.split("/").slice(1);
  if (segments.includes("")) return "must not have empty segments or end with /";
  if (segments.length > SEGMENTS_MAX) return `must have at most ${SEGMENTS_MAX} segments`;
  if (segments.includes(".") || segments.includes(".."))
    return "must not have . or .. as a segment";
  if (UNPRINTABLE.test(path)) {
    return "must not contain control characters, format characters, U+2028 or U+2029";
  }
  if (path.normalize("NFC") !== path) return "must be in Unicode Normalization Form C";
  return undefined;
}
