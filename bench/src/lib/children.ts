import type { ChildProcess } from "node:child_process";
import { once } from "node:events";

/** Everything this run has started and that still lives; none of it outlives the run. */
const running = new Set<ChildProcess>();
const runningPids = new Set<number>();

process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
  for (const pid of runningPids) killIfThere(pid);
});

export function keepTrackOf<T extends ChildProcess>(child: T): T {
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}

/** A process that a child of ours has started and let go of. Returns how to say that it has ended. */
export function keepTrackOfPid(pid: number): () => void {
  runningPids.add(pid);
  return () => runningPids.delete(pid);
}

/** Resolves when the process is gone. */
export async function killChild(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill(signal);
  await exited;
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}
