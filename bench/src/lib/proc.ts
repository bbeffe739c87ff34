import { readdirSync, readFileSync } from "node:fs";

/** CPU time of all threads of a process so far, in microseconds; Linux counts it in nanoseconds. */
export function cpuMicros(pid: number): number {
  let nanos = 0;
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    const text = readIfThere(`/proc/${pid}/task/${task}/schedstat`);
    nanos += Number(text?.split(" ")[0] ?? 0);
  }
  return nanos / 1000;
}

/** Bytes of memory that the process has resident. */
export function residentBytes(pid: number): number {
  return kilobytes(readFileSync(`/proc/${pid}/status`, "utf8"), "VmRSS") * 1024;
}

/** Bytes that would come free if the process ended: shared pages count by their share. 0 if it is gone. */
export function proportionalBytes(pid: number): number {
  const text = readIfThere(`/proc/${pid}/smaps_rollup`);
  return text === undefined ? 0 : kilobytes(text, "Pss") * 1024;
}

/** Each child of the process with everything below it. */
export function childTrees(pid: number): readonly (readonly number[])[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const text = readIfThere(`/proc/${name}/stat`);
    // The program's name, in parentheses, may contain anything.
    const parent = Number(text?.slice(text.lastIndexOf(")") + 2).split(" ")[1]);
    if (Number.isNaN(parent)) continue;
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const treeOf = (root: number): readonly number[] => [
    root,
    ...(children.get(root) ?? []).flatMap(treeOf),
  ];
  return (children.get(pid) ?? []).map(treeOf);
}

function kilobytes(text: string, field: string): number {
  const found = new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(text);
  if (found === null) throw new Error(`the kernel tells no ${field}`);
  return Number(found[1]);
}

/** Undefined for a process or thread that has ended meanwhile. */
function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ESRCH") return undefined;
    throw error;
  }
}
