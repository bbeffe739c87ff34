import { type ChildProcess, spawn } from "node:child_process";
import { Duplex, type Readable, type Writable } from "node:stream";
import { isMainThread } from "node:worker_threads";
import { SandboxUnavailableError } from "../../../core/ports/sandbox.ts";
import { deferred } from "../../../lib/deferred.ts";
import { endProcess, type ProcessRecord, recordProcess } from "./process-record.ts";
import { explainFailure } from "./unavailable.ts";

const STATUS_BYTES_MAX = 65_536;
const MESSAGE_BYTES_MAX = 4096;
const END_MS = 15_000;
const SECCOMP_FD = 3;
const ARGUMENTS_FD = 4;
const STATUS_FD = 5;

/** In the first line of what `--json-status-fd` gives. */
const CHILD_PID = /"child-pid": *(\d+)/;

export interface Launch {
  readonly perlPath: string;
  readonly launcher: string;
  /** Options of `launch.pl` before `--`. */
  readonly launcherOptions: readonly string[];
  readonly bwrapPath: string;
  readonly bwrapArguments: Buffer;
  readonly seccompFilter: Uint8Array;
  readonly command: readonly string[];
}

/** bubblewrap and all that runs in it. */
export class SandboxProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** The first process of the sandbox's pid namespace. */
  readonly record: ProcessRecord;
  /** Resolves with the reason when bubblewrap has ended; processes of the sandbox may be ending still. */
  readonly exited: Promise<string>;

  /**
   * Starts one and resolves when its namespaces exist; nothing of the agent's has been asked for yet.
   * Rejects with `SandboxUnavailableError`, also on abort, with nothing left behind.
   */
  static async start(launch: Launch, signal: AbortSignal): Promise<SandboxProcess> {
    if (!isMainThread) {
      // The kernel sends the parent-death signal when the launching thread ends, not its process.
      throw new SandboxUnavailableError("sandboxes can only be made by the main thread");
    }
    const child = spawnLauncher(launch);
    const exited = exitOf(child);
    try {
      feed(child, SECCOMP_FD, launch.seccompFilter);
      feed(child, ARGUMENTS_FD, launch.bwrapArguments);
      const pid = await childPid(child, exited, signal);
      const record = recordProcess(pid);
      if (!record) throw new SandboxUnavailableError(await exited);
      return new SandboxProcess(child, record, exited);
    } catch (error) {
      // Without a record nothing was asked of the agent: ended with bubblewrap, it leaves no trace.
      child.kill("SIGKILL");
      await exited;
      throw error;
    }
  }

  private constructor(child: ChildProcess, record: ProcessRecord, exited: Promise<string>) {
    const { stdin, stdout } = child;
    if (!stdin || !stdout) throw new Error("the launcher has no pipes");
    this.stdin = stdin;
    this.stdout = stdout;
    this.record = record;
    this.exited = exited;
  }

  /** Kills everything inside; resolves when it is gone. Rejects if it does not go. */
  async end(): Promise<void> {
    await endProcess(this.record, END_MS);
    await this.exited;
  }
}

function spawnLauncher(launch: Launch): ChildProcess {
  const { launcherOptions, bwrapPath, command } = launch;
  return spawn(
    launch.perlPath,
    [
      launch.launcher,
      ...["--parent", String(process.pid)],
      ...launcherOptions,
      "--",
      ...[bwrapPath, "--args", String(ARGUMENTS_FD), "--", ...command],
    ],
    {
      // The inside can read bubblewrap's environment in /proc/1, whatever --clearenv says.
      env: {},
      cwd: "/",
      // Away from the terminal's process group: Ctrl-C is for the hands, who end their sandboxes.
      detached: true,
      stdio: ["pipe", "pipe", "pipe", "pipe", "pipe", "pipe"],
    },
  );
}

/** One pipe per launch: bubblewrap reads a descriptor to its end, so it cannot be shared. */
function feed(child: ChildProcess, fd: number, content: Uint8Array): void {
  const stream = pipeAt(child, fd);
  // A launcher that ended early says why on stderr; that it did not read this says nothing more.
  stream.on("error", () => stream.destroy());
  stream.end(content);
}

/** Node's types end at five descriptors. */
function pipeAt(child: ChildProcess, fd: number): Duplex {
  const pipes: readonly unknown[] = child.stdio;
  const pipe = pipes[fd];
  if (!(pipe instanceof Duplex)) {
    throw new SandboxUnavailableError("this process has no descriptors left for a sandbox");
  }
  return pipe;
}

/** Never rejects. */
function exitOf(child: ChildProcess): Promise<string> {
  const exited = deferred<string>();
  let message = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    message = (message + text).slice(-MESSAGE_BYTES_MAX);
  });
  child.on("error", (error) => exited.resolve(`it could not be started: ${error.message}`));
  child.on("close", (code, signal) => {
    const status = signal === null ? `exit status ${code}` : signal;
    exited.resolve(message.trim() === "" ? status : `${message.trim()} (${status})`);
  });
  return exited.promise;
}

async function childPid(
  child: ChildProcess,
  exited: Promise<string>,
  signal: AbortSignal,
): Promise<number> {
  const status = pipeAt(child, STATUS_FD);
  const found = deferred<number>();
  // Rejected below only through the race, which always has a listener.
  found.promise.catch(() => undefined);
  const onAbort = () => found.reject(cancelled(signal));
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  let text = "";
  status.setEncoding("utf8").on("data", (chunk: string) => {
    text = (text + chunk).slice(0, STATUS_BYTES_MAX);
    const end = text.indexOf("\n");
    if (end < 0) return;
    const pid = CHILD_PID.exec(text.slice(0, end))?.[1];
    if (pid !== undefined) found.resolve(Number(pid));
  });
  status.on("error", () => status.destroy());
  try {
    const failed = exited.then((why) => {
      throw explainFailure(why);
    });
    return await Promise.race([found.promise, failed]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function cancelled(signal: AbortSignal): SandboxUnavailableError {
  return new SandboxUnavailableError("the making of the sandbox was given up", {
    cause: signal.reason,
  });
}
