import { readdirSync, readFileSync } from "node:fs";

/** The letter of the process's state in `/proc`, such as `T` for a stopped one; undefined if it is gone. */
export function stateOf(pid: number): string | undefined {
  const stat = textOf(`/proc/${pid}/stat`);
  // The command's name comes first, in brackets, and may hold spaces and brackets itself.
  const state = stat.slice(stat.lastIndexOf(")") + 2).at(0);
  return state === undefined || "ZX".includes(state) ? undefined : state;
}

export function isGone(pid: number): boolean {
  return stateOf(pid) === undefined;
}

/** False if it was gone already. */
export function kill(pid: number, signal: NodeJS.Signals): boolean {
  if (isGone(pid)) return false;
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/** The command line, in words. */
export function commandOf(pid: number): string {
  return textOf(`/proc/${pid}/cmdline`).replaceAll("\0", " ").trim();
}

/** Processes that name the text on their command line or in their environment. */
export function findProcesses(text: string): readonly number[] {
  const pids = readdirSync("/proc").map(Number).filter(Number.isInteger);
  return pids.filter((pid) => {
    if (pid === process.pid || isGone(pid)) return false;
    return ["cmdline", "environ"].some((file) => textOf(`/proc/${pid}/${file}`).includes(text));
  });
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Looks until the condition holds; false if it does not in time. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  timeoutMs: number,
  everyMs = 10,
): Promise<boolean> {
  const endMs = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() >= endMs) return false;
    await sleep(everyMs);
  }
  return true;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // It is gone, which is what the empty text says.
    return "";
  }
}
