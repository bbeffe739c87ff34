import { type ChildProcess, spawn } from "node:child_process";
import { Duplex, type Readable, type Writable } from "node:stream";
import { isMainThread } from "node:worker_threads";
import { SandboxUnavailableError } from "../../../core/ports/sandbox.ts";
import type { LimitHit } from "../../../core/sandboxes/limits.ts";
import { failPoint } from "../../../lib/fail-point.ts";
import type { ExitListeners } from "../../egress/sandbox-exit.ts";
import { removeGroups } from "../cgroups/remove-groups.ts";
import type { SandboxGroup } from "../cgroups/sandbox-group.ts";
import {
  endRecorded,
  forgetRecord,
  type LaunchRecord,
  type ProcessRecord,
  saveRecord,
} from "../local/process-record.ts";
import { endProcess, identify } from "../local/process-table.ts";
import { ReceivedListeners } from "../local/receive-listeners.ts";
import { explainFailure } from "./unavailable.ts";

const STATUS_BYTES_MAX = 65_536;
const MESSAGE_BYTES_MAX = 4096;
const END_MS = 15_000;
const SECCOMP_FD = 3;
const ARGUMENTS_FD = 4;
const STATUS_FD = 5;
const CHANNEL_FD = 6;

/** In the first line of what `--json-status-fd` gives. */
const CHILD_PID = /"child-pid": *(\d+)/;

export interface Launch {
  /** Where the record of it is kept. */
  readonly handFolder: string;
  readonly record: LaunchRecord;
  readonly perlPath: string;
  readonly launcher: string;
  /** Options of `launch.pl` before `--`. */
  readonly launcherOptions: readonly string[];
  readonly bwrapPath: string;
  readonly bwrapArguments: Buffer;
  readonly seccompFilter: Uint8Array;
  /** Its last argument is the id of the launch. */
  readonly command: readonly string[];
  /** True for a network whose only way out this process serves. */
  readonly hasExit: boolean;
  /** What its use is limited by, not made yet; the record names its folders. */
  readonly group: SandboxGroup | undefined;
}

interface Started {
  readonly group: SandboxGroup | undefined;
  readonly child: ChildProcess;
  readonly record: ProcessRecord;
  readonly exited: Promise<string>;
  readonly listeners: ExitListeners | undefined;
}

/** bubblewrap and all that runs in it. */
export class SandboxProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** The first process of the sandbox's pid namespace. */
  readonly record: ProcessRecord;
  /** Resolves with the reason when bubblewrap has ended; processes of the sandbox may be ending still. */
  readonly exited: Promise<string>;
  /** To be served at once and closed when it has exited; undefined without a way out. */
  readonly listeners: ExitListeners | undefined;
  readonly #group: SandboxGroup | undefined;

  /**
   * Starts one and resolves when its namespaces exist; nothing of the agent's has been asked for yet.
   * From before the start on, the hand's folder has a record of what is to be ended, whenever this
   * process is killed. Rejects with `SandboxUnavailableError`, also on abort, with nothing left behind;
   * where that cannot be proved, the record stays.
   */
  static async start(launch: Launch, signal: AbortSignal): Promise<SandboxProcess> {
    if (!isMainThread) {
      // The kernel sends the parent-death signal when the launching thread ends, not its process.
      throw new SandboxUnavailableError("sandboxes can only be made by the main thread");
    }
    saveRecord(launch.handFolder, launch.record);
    await makeGroup(launch);
    const child = spawnLauncher(launch);
    const exited = exitOf(child);
    const received = new ReceivedListeners(child);
    try {
      feed(child, SECCOMP_FD, launch.seccompFilter);
      feed(child, ARGUMENTS_FD, launch.bwrapArguments);
      const pid = await childPid(child, signal);
      const first = pid === undefined ? undefined : identify(pid);
      const listeners = first && launch.hasExit ? received.take() : undefined;
      if (first && (listeners !== undefined || !launch.hasExit)) {
        return new SandboxProcess({
          child,
          record: { ...launch.record, ...first },
          exited,
          listeners,
          group: launch.group,
        });
      }
    } catch (error) {
      received.close();
      await endHalfMade(child, launch);
      await exited;
      throw error;
    }
    received.close();
    await endHalfMade(child, launch);
    throw explainFailure(await exited);
  }

  private constructor({ child, record, exited, listeners, group }: Started) {
    const { stdin, stdout } = child;
    if (!stdin || !stdout) throw new Error("the launcher has no pipes");
    this.stdin = stdin;
    this.stdout = stdout;
    this.record = record;
    this.exited = exited;
    this.listeners = listeners;
    this.#group = group;
  }

  /** Kills everything inside; resolves when it is gone. Rejects if it does not go. */
  async end(): Promise<void> {
    await endProcess(this.record, END_MS);
    await this.exited;
    this.#group?.observe();
    await removeGroups(this.record.groups ?? [], END_MS);
  }

  /** The limits that were met since this was asked the last time. */
  takeLimitHits(): readonly LimitHit[] {
    return this.#group?.takeHits() ?? [];
  }
}

/** Before there is a process, so that none of the sandbox ever runs outside. */
async function makeGroup({ group, record, handFolder }: Launch): Promise<void> {
  try {
    group?.make();
    failPoint("hands.provision.after_group");
  } catch (error) {
    await removeGroups(record.groups ?? [], END_MS);
    forgetRecord(handFolder, record);
    throw error;
  }
}

/** bubblewrap's child waits for it for ever, if bubblewrap is killed before it has told it to go on. */
async function endHalfMade(child: ChildProcess, { handFolder, record }: Launch): Promise<void> {
  child.kill("SIGKILL");
  await endRecorded(record, END_MS);
  forgetRecord(handFolder, record);
}

function spawnLauncher(launch: Launch): ChildProcess {
  const { launcherOptions, bwrapPath, command, hasExit, group } = launch;
  return spawn(
    launch.perlPath,
    [
      launch.launcher,
      ...["--parent", String(process.pid)],
      ...(group?.folders ?? []).flatMap((folder) => ["--group", folder]),
      ...(hasExit ? ["--exit", String(CHANNEL_FD)] : []),
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
      stdio: [...Array<"pipe">(CHANNEL_FD).fill("pipe"), ...(hasExit ? (["ipc"] as const) : [])],
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
  const exited = Promise.withResolvers<string>();
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

/** Undefined if bubblewrap ended before it said; then its child may be there all the same. */
async function childPid(child: ChildProcess, signal: AbortSignal): Promise<number | undefined> {
  const status = pipeAt(child, STATUS_FD);
  const found = Promise.withResolvers<number | undefined>();
  child.once("exit", () => found.resolve(undefined));
  child.once("error", () => found.resolve(undefined));
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
    return await found.promise;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function cancelled(signal: AbortSignal): SandboxUnavailableError {
  return new SandboxUnavailableError("the making of the sandbox was given up", {
    cause: signal.reason,
  });
}
