import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { isSandboxUid } from "./host-uids.ts";
import { AGENT_SCRIPT } from "./sandbox-layout.ts";

/** A process, told from a later one that got its pid. */
export interface ProcessId {
  readonly pid: number;
  /** Clock ticks since boot, as `/proc/PID/stat` has it. */
  readonly start_time: string;
}

const POLL_MS_MAX = 20;
/** What was read last. More than the longest command line of a launcher, which has a dozen paths. */
const content = Buffer.alloc(65_536);
/** `PF_EXITING` of the kernel: runs no more code of its own, and has no command line any longer. */
const EXITING = 4;
/**
 * One scan can miss a process whose parent ended while it went on: the child had a place in the list
 * that was already passed. It sees that child the next time.
 */
const CLEAN_SCANS = 2;

/** Undefined if there is no such process. */
export function identify(pid: number): ProcessId | undefined {
  const seen = observe(pid);
  return seen && { pid, start_time: seen.startTime };
}

let cachedBootId: string | undefined;

export function bootId(): string {
  cachedBootId ??= readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  return cachedBootId;
}

/**
 * Kills the process and resolves when it is gone; the first of a pid namespace goes after all others of
 * it. Touches no process that merely has the same pid. Rejects when that cannot be reached in time.
 */
export async function endProcess(id: ProcessId, deadlineMs: number): Promise<void> {
  await waitUntilGone(id, deadlineMs, () => kill(id.pid));
}

/**
 * Kills all processes that carry the launch's id and resolves when none is left. These are what the
 * launcher becomes and what bubblewrap starts, up to the agent; whatever an agent started goes with its
 * pid namespace. Touches no other process. `since` is a start time that none of them precedes.
 */
export async function endLaunch(id: string, since: string, deadlineMs: number): Promise<void> {
  const giveUpAt = performance.now() + deadlineMs;
  let found = scan(id, since);
  // Those that were killed just before can no longer be recognised. Only the first time: sandboxes of
  // others may have new ones at every look.
  const ending = found.exiting.map((process) => waitUntilGone(process, deadlineMs, () => true));
  await Promise.all([...ending, ...found.named.map((process) => endProcess(process, deadlineMs))]);
  for (let clean = 0; clean < CLEAN_SCANS; ) {
    if (performance.now() > giveUpAt) throw new Error(`launch ${id} of a sandbox does not end`);
    found = scan(id, since);
    await Promise.all(found.named.map((process) => endProcess(process, deadlineMs)));
    clean = found.named.length === 0 ? clean + 1 : 0;
  }
}

/** `act` says whether the process was still there. */
async function waitUntilGone(
  { pid, start_time }: ProcessId,
  deadlineMs: number,
  act: () => boolean,
): Promise<void> {
  const giveUpAt = performance.now() + deadlineMs;
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, POLL_MS_MAX)) {
    const seen = observe(pid);
    if (!seen || seen.startTime !== start_time) return;
    if (!act()) return;
    // The kernel lets the first process become a zombie only after it has waited for all others. A
    // zombie with further threads is not at its end: code in the sandbox may have put them there.
    if (seen.isZombie && seen.threads <= 1) return;
    if (performance.now() > giveUpAt) throw new Error(`process ${pid} of a sandbox does not end`);
    await sleep(pauseMs);
  }
}

interface Found {
  readonly named: readonly ProcessId[];
  readonly exiting: readonly ProcessId[];
}

/** Looks at all processes of this machine that may be of the launch. */
function scan(id: string, since: string): Found {
  const named: ProcessId[] = [];
  const exiting: ProcessId[] = [];
  for (const pid of readdirSync("/proc").map(Number).filter(Number.isInteger)) {
    const seen = observe(pid);
    if (!seen || seen.isZombie || Number(seen.startTime) < Number(since)) continue;
    const uid = userOf(pid);
    // To read the command line of others' processes is to wait for whoever holds the memory it is in.
    if (uid === undefined || (uid !== process.geteuid?.() && !isSandboxUid(uid))) continue;
    // bubblewrap never runs as root, and what does may take long to end.
    if (seen.isExiting && uid !== 0) exiting.push({ pid, start_time: seen.startTime });
    else if (carries(pid, id)) named.push({ pid, start_time: seen.startTime });
  }
  return { named, exiting };
}

/** The effective one. */
function userOf(pid: number): number | undefined {
  const uid = /^Uid:\t\d+\t(\d+)/m.exec(readProcess(pid, "status") ?? "")?.[1];
  return uid === undefined ? undefined : Number(uid);
}

/** Has the end of the command line that `agentCommand` makes, which no look for the id by hand has. */
function carries(pid: number, launchId: string): boolean {
  const command = readProcess(pid, "cmdline") ?? "";
  return command.endsWith(`\0${launchId}\0`) && command.includes(`\0${AGENT_SCRIPT}\0`);
}

/** False if there is no such process. */
function kill(pid: number): boolean {
  try {
    process.kill(pid, "SIGKILL");
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ESRCH") return false;
    throw error;
  }
}

interface Observation {
  readonly startTime: string;
  readonly isZombie: boolean;
  readonly isExiting: boolean;
  readonly threads: number;
}

function observe(pid: number): Observation | undefined {
  const stat = readProcess(pid, "stat");
  if (stat === undefined) return undefined;
  // The name before the last parenthesis may hold anything. Then: state, ppid, … (proc(5), fields 3 on).
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state = ""] = fields;
  return {
    startTime: fields[19] ?? "",
    isZombie: state === "Z" || state === "X",
    isExiting: (Number(fields[6]) & EXITING) !== 0,
    threads: Number(fields[17]),
  };
}

/** The beginning of a file that the kernel has about the process; undefined if there is no such process. */
function readProcess(pid: number, file: "stat" | "status" | "cmdline"): string | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(`/proc/${pid}/${file}`, "r");
    return content.toString("latin1", 0, readSync(fd, content));
  } catch (error) {
    // ESRCH where it ended between opening and reading; the last two are hidden, as others' may be.
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (["ENOENT", "ESRCH", "EACCES", "EPERM"].includes(code)) return undefined;
    throw error;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
