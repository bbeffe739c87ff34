import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
} from "node:fs";
import { basename, join } from "node:path";
import type { World } from "./world.ts";

/** What of a sandbox is killed: one of the processes that carry it, all of it, or the shell alone. */
export type Victim = "one" | "all" | "shell";

/** A sandbox as it was when it was struck, to look later for what may have survived. */
export interface Struck {
  readonly victim: Victim;
  readonly launchId: string;
  /** Of the kernel, if it was made by then: nothing may be in it any more. */
  readonly pidNamespace: HeldNamespace | undefined;
  readonly groups: readonly string[];
}

/** Held open, since the kernel gives the number of a namespace that is gone to the next. */
interface HeldNamespace {
  readonly name: string;
  readonly fd: number;
}

interface SandboxRecord {
  readonly launch_id: string;
  readonly pid?: number;
  readonly start_time?: string;
  readonly groups?: readonly string[];
}

const SHELL = "bash\0--noprofile\0--norc\0";

/** The sandboxes of one session, one after another, seen and struck from outside. */
export class SandboxTarget {
  readonly handId: string;
  /** On this machine. */
  readonly workspace: string;
  readonly #folder: string;
  /** Those that are dead or dying by an earlier strike. */
  readonly #dead = new Set<string>();

  private constructor(folder: string) {
    this.#folder = folder;
    this.handId = basename(folder);
    this.workspace = join(folder, "workspace");
  }

  /** That of the session whose sandbox has the file in its workspace; undefined if there is none yet. */
  static find(world: World, file: string): SandboxTarget | undefined {
    const hands = join(world.data, "hands");
    const folders = existsSync(hands) ? readdirSync(hands).map((name) => join(hands, name)) : [];
    const found = folders.find((folder) => existsSync(join(folder, "workspace", file)));
    return found === undefined ? undefined : new SandboxTarget(found);
  }

  isAlive(): boolean {
    const record = this.#record();
    return record !== undefined && !this.#dead.has(record.launch_id);
  }

  /** Undefined if there is nothing of the kind alive now. What is given is to be released. */
  strike(victim: Victim, pick: (pids: readonly number[]) => number): Struck | undefined {
    const record = this.#record();
    if (record === undefined || this.#dead.has(record.launch_id)) return undefined;
    const { launch_id: launchId, groups = [] } = record;
    const pidNamespace = holdNamespace(record);
    const struck = { victim, launchId, pidNamespace, groups };
    if (this.#hit(struck, pick)) return struck;
    release(struck);
    return undefined;
  }

  #hit(
    { victim, launchId, pidNamespace }: Struck,
    pick: (pids: readonly number[]) => number,
  ): boolean {
    const inside = pidNamespace === undefined ? [] : membersOf(pidNamespace.name);
    if (victim === "shell") {
      const shell = inside.find((pid) => commandLine(pid) === SHELL && isAgent(parentOf(pid)));
      return shell !== undefined && kill(shell);
    }
    const carriers = pids().filter((pid) => isCarrier(pid, launchId));
    if (carriers.length === 0) return false;
    const targets = victim === "all" ? new Set([...carriers, ...inside]) : [pick(carriers)];
    const isHit = [...targets].filter(kill).length > 0;
    if (isHit) this.#dead.add(launchId);
    return isHit;
  }

  #record(): SandboxRecord | undefined {
    const text = readIfThere(join(this.#folder, "sandbox.json"));
    return text === undefined ? undefined : JSON.parse(text);
  }
}

/** What is left of it, one sentence each. */
export function survivorsOf({ launchId, pidNamespace, groups }: Struck): string[] {
  const named = pids().filter((pid) => isOf(pid, launchId) && isRunning(pid));
  const inside = pidNamespace === undefined ? [] : membersOf(pidNamespace.name);
  return [
    ...[...new Set([...named, ...inside])].map((pid) => `process ${pid}: ${commandLine(pid)}`),
    ...groups.filter((group) => existsSync(group)).map((group) => `group ${group}`),
  ];
}

/** No more is to be known of it. */
export function release({ pidNamespace }: Struck): void {
  if (pidNamespace !== undefined) closeSync(pidNamespace.fd);
}

/** Undefined if the first process is not there yet, or gone: another may have its pid. */
function holdNamespace({ pid, start_time }: SandboxRecord): HeldNamespace | undefined {
  if (pid === undefined) return undefined;
  try {
    const fd = openSync(`/proc/${pid}/ns/pid`, "r");
    if (statOf(pid)?.startTime === start_time) return { fd, name: `pid:[${fstatSync(fd).ino}]` };
    closeSync(fd);
  } catch {
    // It has ended meanwhile.
  }
  return undefined;
}

function pids(): number[] {
  return readdirSync("/proc").map(Number).filter(Number.isInteger);
}

/** Carries a launch's id: the launcher, bubblewrap, the first process inside and the agent. */
function isOf(pid: number, launchId: string): boolean {
  return commandLine(pid).endsWith(`\0${launchId}\0`);
}

/** With whose death the sandbox dies. What the agent is about to run has its command line for a moment. */
function isCarrier(pid: number, launchId: string): boolean {
  return isOf(pid, launchId) && isRunning(pid) && !isAgent(parentOf(pid));
}

/** Not the first process, which has its name as an argument, and gets what a killed shell leaves. */
function isAgent(pid: number | undefined): boolean {
  return pid !== undefined && /^[^\0]*perl\0[^\0]*\/agent\.pl\0/.test(commandLine(pid));
}

function commandLine(pid: number): string {
  return readIfThere(`/proc/${pid}/cmdline`) ?? "";
}

function membersOf(namespace: string): number[] {
  return pids().filter((pid) => namespaceOf(pid) === namespace && isRunning(pid));
}

/** Undefined also for a process that this one may not look at. */
function namespaceOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return undefined;
  }
}

function parentOf(pid: number): number | undefined {
  return statOf(pid)?.parent;
}

function isRunning(pid: number): boolean {
  const state = statOf(pid)?.state ?? "X";
  return state !== "Z" && state !== "X";
}

interface Stat {
  readonly state: string;
  readonly parent: number;
  /** Clock ticks since boot, as the record of a sandbox has it. */
  readonly startTime: string;
}

function statOf(pid: number): Stat | undefined {
  const stat = readIfThere(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state = "X", parent] = fields;
  return { state, parent: Number(parent), startTime: fields[19] ?? "" };
}

/** False if it was gone already. */
function kill(pid: number): boolean {
  try {
    return process.kill(pid, "SIGKILL");
  } catch {
    return false;
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
