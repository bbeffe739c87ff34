import type { HostView } from "../local/base-files.ts";

/** Arguments for bubblewrap that show it, read-only. */
export function viewArguments({ links, folders, binds }: HostView): string[] {
  return [
    ...links.flatMap(({ path, target }) => ["--symlink", target, path]),
    ...folders.flatMap((path) => ["--dir", path]),
    ...binds.flatMap(({ source, target }) => ["--ro-bind", source, target]),
  ];
}
