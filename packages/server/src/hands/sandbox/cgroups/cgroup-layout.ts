import { posix } from "node:path";

export const CONTROLLERS = ["memory", "cpu", "pids"] as const;
export type Controller = (typeof CONTROLLERS)[number];

/** Where this process is in the control groups of the machine, as absolute folders. */
export interface CgroupLayout {
  /** Own group in the hierarchy of each controller that has one of version 1. */
  readonly v1: Readonly<Partial<Record<Controller, string>>>;
  /** Own group in the one hierarchy of version 2, and the one above it, if both can be seen. */
  readonly v2?: { readonly own: string; readonly above?: string };
}

interface Mount {
  readonly root: string;
  readonly folder: string;
  readonly type: string;
  /** Of the file system: in version 1 the controllers. */
  readonly options: readonly string[];
}

/**
 * Reads `/proc/self/cgroup` and `/proc/self/mountinfo`. A machine may have version 1, version 2 or some
 * controllers in either; a container may see only its own part of them.
 */
export function cgroupLayout(membership: string, mountinfo: string): CgroupLayout {
  const mounts = mountinfo.split("\n").flatMap(parseMount);
  const memberships = membership.split("\n").flatMap(parseMembership);
  const v1: Partial<Record<Controller, string>> = {};
  for (const controller of CONTROLLERS) {
    const own = memberships.find(({ names }) => names.includes(controller));
    const mount = mountOf(mounts, controller);
    if (own && mount) v1[controller] = folderOf(mount, own.path);
  }
  const own = memberships.find(({ names }) => names.length === 0);
  const mount = mounts.find(({ type }) => type === "cgroup2");
  return { v1, ...(own && mount && { v2: unified(mount, own.path) }) };
}

/** Of no controllers in the hierarchy of version 2. */
function parseMembership(line: string): { names: readonly string[]; path: string }[] {
  const [, names, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
  if (names === undefined || path === undefined) return [];
  return [{ names: names === "" ? [] : names.split(","), path }];
}

function mountOf(mounts: readonly Mount[], controller: Controller): Mount | undefined {
  return mounts.find(({ type, options }) => type === "cgroup" && options.includes(controller));
}

function unified(mount: Mount, path: string): NonNullable<CgroupLayout["v2"]> {
  const own = folderOf(mount, path);
  return own === mount.folder ? { own } : { own, above: posix.dirname(own) };
}

/** A group outside of what is mounted cannot be seen; then what is mounted is the best there is. */
function folderOf({ root, folder }: Mount, path: string): string {
  const relative = posix.relative(root, path);
  return relative.startsWith("..") ? folder : posix.join(folder, relative);
}

/** See proc_pid_mountinfo(5). */
function parseMount(line: string): Mount[] {
  const [front = "", back = ""] = line.split(" - ");
  const [, , , root, folder] = front.split(" ");
  const [type, , options] = back.split(" ");
  if (root === undefined || folder === undefined || type === undefined) return [];
  return [{ root: plain(root), folder: plain(folder), type, options: (options ?? "").split(",") }];
}

/** Blanks and the like are written as three octal digits. */
function plain(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
