import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "./until.ts";
import type { World } from "./world.ts";

/** The processes of this machine, of all sandboxes too, whose command line has the marker. */
export function processesWith(marker: string): number[] {
  return pids().filter((pid) => (readIfThere(`/proc/${pid}/cmdline`) ?? "").includes(marker));
}

/** An argument of `sleep` that no other process of the machine has: it lasts for minutes. */
export function longSleep(): string {
  return `3${Math.floor(Math.random() * 1e9)
    .toString()
    .padStart(9, "0")
    .replace(/^(..)/, "$1.")}`;
}

/** A command that waits for `endWait`, as long as a test needs, and says nothing of it. */
export function waiting(marker: string): string {
  return `(sleep ${marker}; :) 2>/dev/null`;
}

/** Lets a command that waits go on, once it does wait. */
export async function endWait(marker: string): Promise<void> {
  for (const pid of await until("the command that waits", () => someOf(processesWith(marker)))) {
    process.kill(pid, "SIGKILL");
  }
}

/** The process of the world's hands; undefined if there are none. */
export function handsPid(world: World): number | undefined {
  const file = readIfThere(join(world.data, "hands.json"));
  return file === undefined ? undefined : JSON.parse(file).pid;
}

/** The first process of each sandbox that the world's hands have. */
export function sandboxPids(world: World): number[] {
  return hands(world).flatMap((hand) => {
    const record = readIfThere(join(world.data, "hands", hand, "sandbox.json"));
    // One that is still being launched has no pid yet.
    const pid: unknown = record === undefined ? undefined : JSON.parse(record).pid;
    return typeof pid === "number" ? [pid] : [];
  });
}

/** Settings of a world whose workspaces are folders of the host, which a test can look into. */
export const OPEN_WORKSPACES = { DROVER_SANDBOX_DISK_MB: "0" } as const;

/** A file of a workspace, looked for in every sandbox of the world; undefined if there is none. */
export function workspaceFile(world: World, name: string): string | undefined {
  return workspaces(world)
    .map((workspace) => readIfThere(join(workspace, name)))
    .find((text) => text !== undefined);
}

/** The workspace that has the file; undefined if there is none. */
export function workspaceWith(world: World, name: string): string | undefined {
  return workspaces(world).find((workspace) => existsSync(join(workspace, name)));
}

export function isAlive(pid: number): boolean {
  return !["", "Z", "X"].includes(stateOf(pid));
}

/** By a signal, until another one lets it go on. */
export function isStopped(pid: number): boolean {
  return stateOf(pid) === "T";
}

/** The letter by which the kernel calls it; nothing if there is no such process. */
function stateOf(pid: number): string {
  return /^\d+ \(.*\) (\w)/s.exec(readIfThere(`/proc/${pid}/stat`) ?? "")?.[1] ?? "";
}

function someOf<T>(found: readonly T[]): readonly T[] | undefined {
  return found.length > 0 ? found : undefined;
}

function workspaces(world: World): string[] {
  return hands(world).map((hand) => join(world.data, "hands", hand, "workspace"));
}

function hands(world: World): string[] {
  try {
    return readdirSync(join(world.data, "hands"));
  } catch {
    return [];
  }
}

function pids(): number[] {
  return readdirSync("/proc").map(Number).filter(Number.isInteger);
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
