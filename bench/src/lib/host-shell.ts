import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { keepTrackOf, killChild } from "./children.ts";
import { nowMs, within } from "./clock.ts";

const COMMAND_MS = 10_000;

/** A bash of this machine over a pipe, without a sandbox: what a command takes by itself. */
export interface HostShell extends AsyncDisposable {
  /** Milliseconds until the shell says that the command has ended. */
  time(command: string): Promise<number>;
}

export function openHostShell(): HostShell {
  const child = keepTrackOf(
    spawn("bash", ["--noprofile", "--norc"], { stdio: ["pipe", "pipe", "inherit"] }),
  );
  const lines = createInterface(child.stdout);
  return {
    time: async (command) => {
      const startMs = nowMs();
      const ended = once(lines, "line");
      child.stdin.write(`${command}; echo done\n`);
      await within(COMMAND_MS, command, ended);
      return nowMs() - startMs;
    },
    [Symbol.asyncDispose]: () => killChild(child, "SIGKILL"),
  };
}
