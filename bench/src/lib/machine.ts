import { execFileSync } from "node:child_process";
import { readFileSync, statfsSync } from "node:fs";
import { arch, cpus, release, totalmem } from "node:os";

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly kernel: string;
  readonly node: string;
  /** Of the folder that is measured in: a file system in memory makes every commit free. */
  readonly filesystem: string;
  /** The 1-minute load before the run: what others did meanwhile. */
  readonly loadBefore: number;
}

export interface Commit {
  readonly hash: string;
  /** True if the working tree had changes. */
  readonly isChanged: boolean;
}

const FILESYSTEMS: Readonly<Record<number, string>> = {
  61267: "ext4",
  16914836: "tmpfs",
  2035054128: "overlayfs",
  2435016766: "btrfs",
  1481003842: "xfs",
};

export function describeMachine(folder: string): Machine {
  const [first] = cpus();
  const { type } = statfsSync(folder);
  return {
    cpu: first?.model ?? arch(),
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    filesystem: FILESYSTEMS[type] ?? `type ${type.toString(16)}`,
    loadBefore: Number(readFileSync("/proc/loadavg", "utf8").split(" ")[0]),
  };
}

/** The short hash of what is checked out; `unknown` outside a repository, as in an unpacked archive. */
export function describeCommit(folder: string): Commit {
  try {
    const hash = git(folder, "rev-parse", "--short=10", "HEAD");
    const changes = git(folder, "status", "--porcelain", "--untracked-files=no", "--", "packages");
    return { hash, isChanged: changes !== "" };
  } catch {
    return { hash: "unknown", isChanged: false };
  }
}

function git(folder: string, ...args: readonly string[]): string {
  return execFileSync("git", args, { cwd: folder, encoding: "utf8", stdio: "pipe" }).trim();
}
