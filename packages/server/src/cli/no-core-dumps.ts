import { spawnSync } from "node:child_process";

/**
 * Sees to it that no core file of this process is ever written: it would hold every secret that is in use. Gives a
 * sentence where that cannot be had, for the operator to see to it (`LimitCORE=0`, `ulimit -c 0`).
 */
export function forbidCoreDumps(): string | undefined {
  if (process.platform !== "linux") return undefined;
  const pid = String(process.pid);
  const { status, error } = spawnSync("prlimit", ["--pid", pid, "--core=0:0"], { stdio: "ignore" });
  if (status === 0) return undefined;
  const why = error === undefined ? `prlimit ended with ${status}` : error.message;
  return `core files of this process are not forbidden (${why}): see to it by ulimit -c 0`;
}
