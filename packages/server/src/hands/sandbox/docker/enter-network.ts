import { spawn } from "node:child_process";
import { SandboxUnavailableError } from "../../../core/ports/sandbox.ts";
import type { ExitListeners } from "../../egress/sandbox-exit.ts";
import { ReceivedListeners } from "../local/receive-listeners.ts";

const CHANNEL_FD = 3;
const PATIENCE_MS = 20_000;
const MESSAGE_BYTES_MAX = 4096;

export interface EnteredNetwork {
  readonly perlPath: string;
  /** The script `enter.pl`, absolute. */
  readonly script: string;
  /** The container's first process. */
  readonly pid: number;
  readonly startTime: string;
}

/**
 * Opens the only way out of a running container's network. Rejects with `SandboxUnavailableError` where
 * that cannot be done, above all where the network leads anywhere else.
 */
export async function enterNetwork(network: EnteredNetwork): Promise<ExitListeners> {
  const { perlPath, script, pid, startTime } = network;
  const child = spawn(
    perlPath,
    [script, "--pid", String(pid), "--start", startTime, "--exit", String(CHANNEL_FD)],
    {
      env: {},
      cwd: "/",
      timeout: PATIENCE_MS,
      killSignal: "SIGKILL",
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    },
  );
  const received = new ReceivedListeners(child);
  let message = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    message = (message + text).slice(-MESSAGE_BYTES_MAX);
  });
  const ended = Promise.withResolvers<string>();
  child.once("error", (error) => ended.resolve(error.message));
  child.once("close", (code, signal) => ended.resolve(`exit status ${code ?? signal}`));
  const status = await ended.promise;
  const listeners = received.take();
  if (status === "exit status 0" && listeners !== undefined) return listeners;
  received.close();
  throw new SandboxUnavailableError(
    `no way out could be made for the network of a container: ${message.trim() || status}`,
  );
}
