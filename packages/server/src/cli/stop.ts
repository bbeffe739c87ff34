import { readHandsFile } from "../hands/protocol/hands-file.ts";
import { OperatorError } from "../lib/operator-error.ts";
import { findServers, isAlive } from "./server-file.ts";

const STOP_MS = 30_000;
const LOOK_MS = 50;

export interface StopOptions {
  readonly data: string;
  /** Also ends the process that owns the sandboxes, and so what runs in them. */
  readonly hands: boolean;
}

/**
 * Ends the servers of the data folder, and its hands if asked. Resolves when the processes are gone, to
 * what was stopped. Rejects with `OperatorError` if one does not end.
 */
export async function stop(options: StopOptions): Promise<readonly string[]> {
  const stopped: string[] = [];
  for (const server of await findServers(options.data)) {
    await end(server, "server");
    stopped.push(`the server (process ${server.pid})`);
  }
  const hands = options.hands ? await readHandsFile(options.data) : undefined;
  if (hands !== undefined && (await isAlive(hands))) {
    await end(hands, "hands");
    stopped.push(`the hands (process ${hands.pid}) and their sandboxes`);
  }
  return stopped;
}

async function end(process_: { pid: number; pid_start: string }, what: string): Promise<void> {
  process.kill(process_.pid, "SIGTERM");
  const deadline = Date.now() + STOP_MS;
  while (await isAlive(process_)) {
    if (Date.now() > deadline) {
      throw new OperatorError(
        `The ${what} (process ${process_.pid}) did not end within ${STOP_MS / 1000} seconds; end it with: kill -9 ${process_.pid}`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
