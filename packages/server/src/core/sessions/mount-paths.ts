import { InvalidRequestError } from "../errors.ts";

const UPLOADS = "/mnt/session/uploads";
const REPOSITORIES = "/workspace";
const PATH_LENGTH_MAX = 1_024;
/** Bytes, as the usual file systems have it. */
const SEGMENT_BYTES_MAX = 255;

/** A file's place: below the uploads, normalised; what is not yet below is rooted there. */
export function uploadPath(path: string, place: string): string {
  const segments = segmentsOf(path);
  const isRooted = `/${segments.slice(0, 3).join("/")}` === UPLOADS && path.startsWith("/");
  const below = isRooted ? segments.slice(3) : segments;
  if (below.length === 0 || path.endsWith("/")) {
    throw new InvalidRequestError(`${place}: must name a file`);
  }
  return joined(UPLOADS, below, place);
}

/** A repository's place: below `/workspace`, normalised; a relative path is taken from there. */
export function repositoryPath(path: string, place: string): string {
  const segments = segmentsOf(path);
  const isAbsolute = path.startsWith("/");
  const below = isAbsolute ? segments.slice(1) : segments;
  if (below.length === 0 || (isAbsolute && `/${segments[0]}` !== REPOSITORIES)) {
    throw new InvalidRequestError(`${place}: must name a folder below ${REPOSITORIES}`);
  }
  return joined(REPOSITORIES, below, place);
}

/**
 * Rejects mount paths of one session that are the same or lie below each other: a file is not also a
 * folder, and nothing is mounted into a repository.
 */
export function assertDistinctPaths(paths: readonly string[], place: string): void {
  const sorted = paths.map((path) => `${path}/`).toSorted();
  for (const [index, path] of sorted.entries()) {
    const next = sorted[index + 1];
    if (next?.startsWith(path)) {
      throw new InvalidRequestError(
        `${place}: two resources cannot be mounted at ${path.slice(0, -1)} and ${next.slice(0, -1)}`,
      );
    }
  }
}

function segmentsOf(path: string): string[] {
  return path.split("/").filter((segment) => segment !== "" && segment !== ".");
}

function joined(root: string, below: readonly string[], place: string): string {
  if (below.includes("..")) throw new InvalidRequestError(`${place}: must not contain ..`);
  if (below.some((segment) => /\p{Cc}/u.test(segment))) {
    throw new InvalidRequestError(`${place}: must not contain control characters`);
  }
  if (below.some((segment) => new TextEncoder().encode(segment).length > SEGMENT_BYTES_MAX)) {
    throw new InvalidRequestError(`${place}: a name is longer than ${SEGMENT_BYTES_MAX} bytes`);
  }
  const full = `${root}/${below.join("/")}`;
  if (full.length > PATH_LENGTH_MAX) {
    throw new InvalidRequestError(`${place}: is longer than ${PATH_LENGTH_MAX} characters`);
  }
  return full;
}
