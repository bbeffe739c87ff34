import type { SandboxUse } from "../../../core/sandboxes/limits.ts";
import { SKILLS_FOLDER } from "../../skills/skill-tree.ts";
import { baseArguments } from "./base-files.ts";
import { UPLOADS_FOLDER } from "./upload-tree.ts";

/** Where the agent's folder is shown inside. */
const AGENT_FOLDER = "/run/drover";
export const AGENT_SCRIPT = `${AGENT_FOLDER}/agent.pl`;

const MIB = 1024 * 1024;
const TMP_BYTES = 512 * MIB;
const SHM_BYTES = 64 * MIB;
const SMALL_BYTES = 16 * MIB;

const ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  HOME: "/workspace",
  USER: "sandbox",
  LOGNAME: "sandbox",
  SHELL: "/bin/bash",
  LANG: "C.UTF-8",
  TERM: "dumb",
};

/** `openFiles` and `fileBytes` are limits of every process inside, the others of all of them together. */
export interface SandboxLimits extends SandboxUse {
  readonly fileBytes: number;
}

/** Host paths of what a sandbox is shown, as the launching process sees them. */
export interface ShownFolders {
  readonly workspace: string;
  readonly outputs: string;
  readonly spill: string;
  readonly uploads: string;
  /** Absent where there are none. */
  readonly skills?: string;
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
  { hasExit, memoryBytes = Number.POSITIVE_INFINITY }: InsideOptions,
): Buffer {
  const options = [
    ...["--unshare-all", ...(hasExit ? ["--share-net"] : [])],
    ...["--unshare-user", "--disable-userns"],
    ...["--uid", "1000", "--gid", "1000", "--hostname", "sandbox", "--cap-drop", "ALL"],
    ...["--die-with-parent", "--new-session", "--seccomp", "3", "--json-status-fd", "5"],
    "--clearenv",
    ...Object.entries(ENVIRONMENT).flatMap(([name, value]) => ["--setenv", name, value]),
    ...baseArguments(folders.etc),
    ...["--proc", "/proc", "--dev", "/dev"],
    ...tmpfs("/dev/shm", Math.min(SHM_BYTES, memoryBytes / 16)),
    ...tmpfs("/tmp", Math.min(TMP_BYTES, memoryBytes / 4)),
    ...tmpfs("/var/tmp", Math.min(SHM_BYTES, memoryBytes / 16)),
    ...tmpfs("/run", Math.min(SMALL_BYTES, memoryBytes / 64)),
    ...["--ro-bind", folders.agent, AGENT_FOLDER],
    ...["--bind", folders.workspace, "/workspace"],
    ...["--bind", folders.outputs, "/mnt/session/outputs"],
    ...["--bind", folders.spill, "/mnt/session/.spill"],
    ...["--ro-bind", folders.uploads, UPLOADS_FOLDER],
    ...(folders.skills === undefined ? [] : ["--ro-bind", folders.skills, SKILLS_FOLDER]),
    // Both are in memory, and writable unless said otherwise.
    ...["--remount-ro", "/dev", "--remount-ro", "/"],
    ...["--chdir", "/workspace"],
  ];
  return Buffer.from(`${options.join("\0")}\0`);
}

/** The program inside and its arguments, of which the last is for those who look for it from outside. */
export function agentCommand(limits: SandboxLimits, launchId: string): string[] {
  const { processes, openFiles, fileBytes } = limits;
  const numbers = [processes, openFiles, fileBytes].map(String);
  return ["/usr/bin/perl", AGENT_SCRIPT, ...numbers, launchId];
}

function tmpfs(path: string, bytes: number): string[] {
  return ["--perms", "1777", "--size", String(Math.floor(bytes)), "--tmpfs", path];
}
