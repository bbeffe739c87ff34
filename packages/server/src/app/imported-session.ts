import { InvalidRequestError } from "../core/errors.ts";
import { mountPathOf } from "../core/memory/mount-path.ts";
import { assertDistinctPaths, repositoryPath, uploadPath } from "../core/sessions/mount-paths.ts";
import { assertBranch, repositoryName } from "../core/sessions/repository.ts";
import type { FileLine, SessionLine } from "../core/sessions/session-file.ts";

const PLACE = "line 2: session";

/** Rejects what no session could have been made with: it would be mounted where it must not be. */
export function assertResources({ resources, mounts }: SessionLine): void {
  for (const [index, resource] of resources.entries()) {
    const place = `${PLACE}.resources.${index}`;
    switch (resource.type) {
      case "file":
        assertSame(uploadPath(resource.mount_path, place), resource.mount_path, place);
        break;
      case "github_repository":
        repositoryName(resource.url, `${place}.url`);
        if (resource.checkout?.type === "branch") assertBranch(resource.checkout.name, place);
        assertSame(repositoryPath(resource.mount_path, place), resource.mount_path, place);
        break;
      case "memory_store":
        assertSame(mountPathOf(resource.name ?? ""), resource.mount_path, place);
        break;
    }
  }
  assertDistinctPaths(
    resources.flatMap(({ mount_path }) => mount_path ?? []),
    `${PLACE}.resources`,
  );
  for (const [index, { type, mount_path }] of mounts.entries()) {
    if (type === "skill") continue;
    const place = `${PLACE}.mounts.${index}`;
    assertSame(uploadPath(mount_path, place), mount_path, place);
  }
  assertDistinctPaths(
    mounts.map(({ mount_path }) => mount_path),
    `${PLACE}.mounts`,
  );
  const ids = resources.map((one) => (one.type === "memory_store" ? one.memory_store_id : one.id));
  if (new Set(ids).size !== ids.length) {
    throw new InvalidRequestError(`${PLACE}.resources: one of them comes twice`);
  }
}

/** Rejects files and mounts whose content did not come with them. */
export function assertContents(
  { mounts }: SessionLine,
  files: readonly FileLine[],
  sizes: ReadonlyMap<string, number>,
): void {
  for (const { sha256, size_bytes } of [...mounts, ...files]) {
    if (sha256 === "" || sizes.get(sha256) === size_bytes) continue;
    throw new InvalidRequestError(`the file has no content ${sha256} of ${size_bytes} bytes`);
  }
  const ids = files.map(({ id }) => id);
  const paths = files.flatMap(({ output_path }) => output_path ?? []);
  if (new Set(ids).size !== ids.length || new Set(paths).size !== paths.length) {
    throw new InvalidRequestError("two of the files have the same id or the same output_path");
  }
}

function assertSame(path: string, given: string | null | undefined, place: string): void {
  if (path === given) return;
  throw new InvalidRequestError(`${place}: the mount path is not one that a session could have`);
}
