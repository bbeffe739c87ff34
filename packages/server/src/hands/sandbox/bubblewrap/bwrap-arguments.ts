import { SKILLS_FOLDER } from "../../skills/skill-tree.ts";
import { baseArguments } from "../local/base-files.ts";
import type { MountTrees } from "../local/sandbox-launcher.ts";
import {
  AGENT_FOLDER,
  ENVIRONMENT,
  memoryFileSystems,
  SANDBOX_HOSTNAME,
} from "../local/sandbox-layout.ts";
import { UPLOADS_FOLDER } from "../local/upload-tree.ts";

/** Host paths of what a sandbox is shown, as the launching process sees them. */
export interface ShownFolders extends MountTrees {
  readonly workspace: string;
  readonly outputs: string;
  readonly spill: string;
  readonly etc: string;
  readonly agent: string;
}

interface InsideOptions {
  readonly hasExit: boolean;
  /** The limit that what is kept in memory counts to: a full `/tmp` is to be an error, not an end. */
  readonly memoryBytes?: number | undefined;
}

/**
 * bubblewrap's arguments (NUL separated, for `--args`): own namespaces of every kind, a network with
 * only `lo` in it, no capability, nothing of the host but its programs, read-only. With a way out the
 * network is the one that the launcher made.
 */
export function bwrapArguments(
  folders: ShownFolders,
  { hasExit, memoryBytes }: InsideOptions,
): Buffer {
  const options = [
    ...["--unshare-all", ...(hasExit ? ["--share-net"] : [])],
    ...["--unshare-user", "--disable-userns"],
    ...["--uid", "1000", "--gid", "1000", "--hostname", SANDBOX_HOSTNAME, "--cap-drop", "ALL"],
    ...["--die-with-parent", "--new-session", "--seccomp", "3", "--json-status-fd", "5"],
    "--clearenv",
    ...Object.entries(ENVIRONMENT).flatMap(([name, value]) => ["--setenv", name, value]),
    ...baseArguments(folders.etc),
    ...["--proc", "/proc", "--dev", "/dev"],
    ...memoryFileSystems(memoryBytes).flatMap(({ path, bytes }) => tmpfs(path, bytes)),
    ...["--ro-bind", folders.agent, AGENT_FOLDER],
    ...["--bind", folders.workspace, "/workspace"],
    ...["--bind", folders.outputs, "/mnt/session/outputs"],
    ...["--bind", folders.spill, "/mnt/session/.spill"],
    ...["--ro-bind", folders.uploads, UPLOADS_FOLDER],
    ...(folders.skills === undefined ? [] : ["--ro-bind", folders.skills, SKILLS_FOLDER]),
    ...(folders.memory ?? []).flatMap(({ mount_path, folder, isWritable }) => [
      ...[isWritable ? "--bind" : "--ro-bind", folder, mount_path],
    ]),
    // Both are in memory, and writable unless said otherwise.
    ...["--remount-ro", "/dev", "--remount-ro", "/"],
    ...["--chdir", "/workspace"],
  ];
  return Buffer.from(`${options.join("\0")}\0`);
}

function tmpfs(path: string, bytes: number): string[] {
  return ["--perms", "1777", "--size", String(bytes), "--tmpfs", path];
}
