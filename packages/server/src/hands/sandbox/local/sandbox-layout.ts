import type { SandboxUse } from "../../../core/sandboxes/limits.ts";

/** What every sandbox looks like from inside, whoever made it. */

/** Where the agent's folder is shown inside. */
export const AGENT_FOLDER = "/run/drover";
export const AGENT_SCRIPT = `${AGENT_FOLDER}/agent.pl`;
export const SANDBOX_HOSTNAME = "sandbox";
/** Where what package managers installed is shown, a folder each. */
export const PACKAGES_FOLDER = "/opt/packages";
/** Where sandboxes that install have the authorities that the host trusts. */
export const WORKSHOP_AUTHORITIES = "/run/ca-certificates.crt";

const MIB = 1024 * 1024;
const TMP_BYTES = 512 * MIB;
const SHM_BYTES = 64 * MIB;
const SMALL_BYTES = 16 * MIB;

/** All there is in the environment of the agent, and so of what it starts. */
export const ENVIRONMENT: Readonly<Record<string, string>> = {
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

export const DEFAULT_LIMITS: SandboxLimits = {
  processes: 512,
  openFiles: 4096,
  fileBytes: 16 * 1024 * 1024 * 1024,
};

/**
 * The file systems in memory that a sandbox can write, and their sizes in bytes. What is in them counts
 * to the limit on memory: a full `/tmp` is to be an error, not an end.
 */
export function memoryFileSystems(memoryBytes = Number.POSITIVE_INFINITY): readonly MemoryFs[] {
  const within = (bytes: number, share: number) => Math.floor(Math.min(bytes, memoryBytes / share));
  return [
    { path: "/dev/shm", bytes: within(SHM_BYTES, 16) },
    { path: "/tmp", bytes: within(TMP_BYTES, 4) },
    { path: "/var/tmp", bytes: within(SHM_BYTES, 16) },
    { path: "/run", bytes: within(SMALL_BYTES, 64) },
  ];
}

interface MemoryFs {
  readonly path: string;
  readonly bytes: number;
}

/** The program inside and its arguments, of which the last is for those who look for it from outside. */
export function agentCommand(limits: SandboxLimits, launchId: string): string[] {
  const { processes, openFiles, fileBytes } = limits;
  const numbers = [processes, openFiles, fileBytes].map(String);
  return ["/usr/bin/perl", AGENT_SCRIPT, ...numbers, launchId];
}
