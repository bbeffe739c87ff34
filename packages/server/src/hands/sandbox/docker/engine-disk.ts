import { type ChildProcess, spawn } from "node:child_process";
import { SandboxUnavailableError } from "../../../core/ports/sandbox.ts";
import { diskOptions, type HandDisk } from "../disk/sandbox-disks.ts";

/** The file system may have to be repaired first. */
const MOUNT_MS = 60_000;
/** Unmounting waits for nothing but a processor. */
const UNMOUNT_MS = 15_000;
const MESSAGE_BYTES_MAX = 4096;

export interface EngineMounts {
  readonly perlPath: string;
  /** The script `engine-disk.pl`, absolute. */
  readonly script: string;
  /** Of the engine whose mounts they are. */
  readonly socketPath: string;
}

interface Shown {
  readonly disk: HandDisk;
  /** At the top of it; made where they are missing. */
  readonly folders: readonly string[];
  /** The folder that it is mounted on. Exists. */
  readonly stage: string;
  /** Whom the folders in it belong to. */
  readonly uid: number;
}

/**
 * Calls `use` while the engine sees the disk's folders below `stage`: containers that are started
 * meanwhile keep what they were shown, and the disk is let go of with the last of them. When it resolves
 * nothing is mounted there, nor soon after this process is killed. Rejects with `SandboxUnavailableError`
 * where the disk cannot be mounted, and with what `use` rejects with.
 */
export async function withDisk<T>(
  mounts: EngineMounts,
  { disk, folders, stage, uid }: Shown,
  use: () => Promise<T>,
): Promise<T> {
  const options = ["--stage", stage, ...diskOptions(disk, folders), "--uid", String(uid)];
  const program = start(mounts, options);
  const timer = setTimeout(() => program.child.kill("SIGKILL"), MOUNT_MS);
  const isMounted = await Promise.race([program.said, program.ended.then(() => false)]);
  clearTimeout(timer);
  if (!isMounted) throw failed(await program.ended);
  let result: T;
  try {
    result = await use();
  } catch (error) {
    // What went wrong first is what is told; what stays mounted is cleared with the launch.
    await finish(program);
    throw error;
  }
  const outcome = await finish(program);
  if (outcome !== "") throw failed(outcome);
  return result;
}

/** Unmounts what an earlier process may have left. Rejects if it is not proved gone. */
export async function clearStage(mounts: EngineMounts, stage: string): Promise<void> {
  const outcome = await finish(start(mounts, ["--stage", stage]));
  if (outcome !== "") throw failed(outcome);
}

interface Program {
  readonly child: ChildProcess;
  /** Resolves when it has written anything; maybe never. */
  readonly said: Promise<boolean>;
  /** Resolves with what went wrong; empty for nothing. Never rejects. */
  readonly ended: Promise<string>;
}

function start({ perlPath, script, socketPath }: EngineMounts, options: string[]): Program {
  const child = spawn(perlPath, [script, "--engine", socketPath, ...options], {
    env: {},
    cwd: "/",
    // Away from the terminal's process group, for it has to tidy up when this process is ended.
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
  // One that ended early says why.
  child.stdin.on("error", () => child.stdin.destroy());
  let message = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    message = (message + text).slice(-MESSAGE_BYTES_MAX);
  });
  const said = new Promise<boolean>((resolve) => child.stdout.once("data", () => resolve(true)));
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code, signal) => {
      resolve(code === 0 ? "" : message.trim() || `exit status ${code ?? signal}`);
    });
  });
  return { child, said, ended };
}

/** See `Program.ended`. */
async function finish({ child, ended }: Program): Promise<string> {
  child.stdin?.end();
  const timer = setTimeout(() => child.kill("SIGKILL"), UNMOUNT_MS);
  const outcome = await ended;
  clearTimeout(timer);
  return outcome;
}

function failed(message: string): SandboxUnavailableError {
  const reason = message.replace(/^drover-disk: /, "");
  return new SandboxUnavailableError(`the disk of the sandbox cannot be mounted: ${reason}`);
}
