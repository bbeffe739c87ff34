/**
 * Where a memory store of this name is mounted in a session: `/mnt/memory/` and the name in lower case,
 * each run of anything but ASCII letters and digits one hyphen. Two stores may have the same.
 */
export function mountPathOf(name: string): string {
  // Lower case comes last: before, it would make ASCII letters of others, and longer texts.
  return `/mnt/memory/${name.replace(/[^A-Za-z0-9]+/g, "-").toLowerCase()}`;
}
