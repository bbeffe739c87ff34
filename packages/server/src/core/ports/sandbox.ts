import type { SandboxFacts } from "../sandboxes/facts.ts";
import type { LimitHit } from "../sandboxes/limits.ts";
import type { ProviderName } from "../sandboxes/providers.ts";
import type { EgressRecord, Recipe } from "./hands.ts";
import type { SessionCredentials } from "./session-credentials.ts";
import type { Spares } from "./spares.ts";

/** What a provider can enforce on this machine, found out by trying. */
export interface SandboxCapabilities {
  readonly provider: string;
  /** `root`: own host uid per sandbox. `rootless`: user namespaces only. */
  readonly mode: "root" | "rootless";
  readonly memoryLimit: boolean;
  readonly cpuLimit: boolean;
  readonly processLimit: boolean;
  readonly diskLimit: boolean;
  /** Every connection of every program inside ends in the sandbox's own way out, which judges it. */
  readonly transparentEgress: boolean;
}

export interface ProvisionRequest {
  readonly workspaceId: string;
  readonly handId: string;
  readonly recipe: Recipe;
  /** What the recipe's base and packages are on this machine; absent for the host's programs alone. */
  readonly outfit?: Outfit;
  /**
   * The only thing that the sandbox's programs can speak to, at `http://127.0.0.1:3128/`, whatever the
   * recipe says of a network. A provider that gives no sandbox a network refuses.
   */
  readonly gate?: SandboxGate;
  /** What its way out puts into requests; absent for a session that has no credentials. */
  readonly secrets?: SandboxSecrets;
}

export interface SandboxSecrets {
  /**
   * Environment variables with their placeholders, as they are now: asked for when the sandbox is made. Rejects with
   * `SandboxUnavailableError`.
   */
  variables(signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
  readonly credentials: SessionCredentials;
}

/** Answers a request from inside a sandbox. Where it rejects, the program gets status 502. */
export type SandboxGate = (request: GateRequest, signal: AbortSignal) => Promise<GateAnswer>;

export interface GateRequest {
  readonly method: string;
  /** Path and query, as they came. */
  readonly path: string;
  /** By name in small letters; of several of one name the last. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array>;
}

export interface GateAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** A rejection in the middle cuts the program's connection. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** What the programs of a sandbox come from. */
export interface Outfit {
  /** Absolute path of a root file system; absent for the host's `/usr`. */
  readonly root?: string;
  /** By name, absolute paths of folders that are shown read-only as `/opt/packages/<name>`. */
  readonly layers: Readonly<Record<string, string>>;
  /** Environment variables beside the usual ones; one of the same name goes before. */
  readonly variables: Readonly<Record<string, string>>;
  /** For a sandbox that is there to install something, and that no session has. */
  readonly workshop?: Workshop;
}

export type Workshop =
  /** `root` is a copy of its own that it may write, and its programs believe to be root. */
  | { readonly type: "root" }
  /** A folder that it may write, shown as `/opt/packages/<name>`. */
  | { readonly type: "layer"; readonly name: string; readonly folder: string };

/** Makes sandboxes and proves them gone. */
export interface SandboxProvider {
  /** Whose recipes it takes. The first is the one that `capabilities` tells of. */
  readonly names: readonly [ProviderName, ...ProviderName[]];
  /** Runs a real sandbox to find out. Rejects with `SandboxUnavailableError` where none can run. */
  capabilities(signal: AbortSignal): Promise<SandboxCapabilities>;
  /**
   * Makes a sandbox on the hand's workspace, which survives it: files written under `/workspace` and
   * `/mnt/session/outputs` by an earlier sandbox of the same hand are there again. Any earlier
   * sandbox of the hand is ended first and its processes are proved gone.
   * Rejects with `SandboxUnavailableError`; aborting ends a half-made sandbox.
   */
  provision(request: ProvisionRequest, signal: AbortSignal): Promise<Sandbox>;
  /**
   * Ends every sandbox that an earlier process of this installation left behind, and resolves only
   * when all their processes are gone. Never touches another installation's.
   */
  reap(): Promise<void>;
  /** Ends the hand's sandbox if there is one, and deletes its workspace. */
  dispose(handId: string): Promise<void>;
  /** Absent for a provider that makes no sandbox before it is needed. */
  readonly spares?: Spares;
}

export interface ExecRequest {
  /** Run by `bash` in the sandbox's one persistent shell: variables, functions and `cd` stay. */
  readonly command: string;
  /** Milliseconds; when they are over the shell and everything it started are killed. */
  readonly timeoutMs: number;
  /** Where the whole output is kept inside the sandbox if it gets long. */
  readonly spill?: OutputSpill;
}

export interface OutputSpill {
  /** Absolute, of a file that does not exist yet; older ones beside it may be deleted. */
  readonly path: string;
  /** The file is written only if there is more output than this. */
  readonly afterBytes: number;
  /** The file is not written beyond this. */
  readonly bytesMax: number;
}

export interface ExecResult {
  /** Null if the shell ended without one (killed, timed out, `exit`-ed shells report their status). */
  readonly exitCode: number | null;
  /** `lost`: the shell has ended since the command before, so this one was not run. */
  readonly ended: "exited" | "timeout" | "cancelled" | "lost";
  /** Of all output, also what was not passed on. */
  readonly output_bytes?: number;
  /** Bytes left out of the middle of what was passed on; 0 up to some megabytes of output. */
  readonly omitted_bytes?: number;
  /** Bytes in the spill file; 0 if there is none. */
  readonly spilled_bytes?: number;
  /**
   * Limits of the sandbox that were met while the command ran, or by what ran in it since the command
   * before; and full disks, as they are when it has ended. Absent if there is none.
   */
  readonly limits?: readonly LimitHit[];
}

/** A program run beside the persistent shell, which it does not touch. */
export interface RunRequest {
  /** Program (looked up in PATH unless it has a slash) and arguments; no shell reads them. */
  readonly argv: readonly string[];
  readonly timeoutMs: number;
  /** The program is ended once it has written more than this to stdout. */
  readonly stdoutBytesMax: number;
}

export interface RunResult {
  /** Null if it was ended by a signal. */
  readonly exitCode: number | null;
  /** `full`: ended because it wrote more than `stdoutBytesMax`; `stdout` has that much. */
  readonly ended: "exited" | "timeout" | "cancelled" | "full";
  readonly stdout: Uint8Array;
  /** At most the first 8 KiB. */
  readonly stderr: Uint8Array;
}

export interface FileStat {
  readonly path: string;
  readonly type: "file" | "directory" | "symlink" | "other";
  readonly size_bytes: number;
  /** Milliseconds since 1970. */
  readonly mtime_ms: number;
  /** Changes when the file is replaced or written. */
  readonly version: string;
}

/**
 * A live sandbox. All paths are inside it and are resolved inside it: the host never follows them.
 * Every method rejects with `SandboxGoneError` once the sandbox is dead, and with
 * `SandboxFileError` where the inside answers no.
 */
export interface Sandbox {
  readonly handId: string;
  /** Resolves when the sandbox is dead and all of its processes are gone; says why. */
  readonly closed: Promise<string>;
  /**
   * Runs one command in the persistent shell; the next waits until it ended. stdout and stderr come
   * interleaved as they arrive; a command that closes or redirects them with `exec` does so for itself
   * alone. Ends when the command ends, also if background processes keep its
   * output open; what such a process writes between two commands comes with the next one's output,
   * shortened to its newest few kilobytes. Reads of stdin find its end. Aborting the signal kills the
   * shell and everything started in the sandbox, also by earlier commands, and resolves with
   * `cancelled`; so does a time-out with `timeout`; the next command gets a new shell, and so does the
   * one after `exit`. Where the shell ended between two commands, the next is not run and resolves with
   * `lost`, because the state that it builds upon is gone; the one after gets a new shell. Memory is bounded: of very long output the middle is left out
   * (`omitted_bytes`). Rejects with `SandboxFileError` for a command that no shell can be given.
   */
  exec(
    request: ExecRequest,
    onOutput: (chunk: Uint8Array) => void,
    signal: AbortSignal,
  ): Promise<ExecResult>;
  /** Ends the persistent shell and everything it started; the next command gets a new one. */
  restartShell(): Promise<void>;
  /**
   * Runs a program to its end, beside the shell and at the same time. Only for programs that may be
   * run twice: one that was killed together with the shell is started again. Aborting ends it and
   * resolves with `cancelled`. Rejects with `SandboxFileError` `ENOENT` if there is no such program.
   */
  run(request: RunRequest, signal: AbortSignal): Promise<RunResult>;
  /**
   * Bytes from `offset`, at most `limit`; `size_bytes` is that of the whole file. Follows symbolic
   * links, inside the sandbox. Refuses all but regular files (`EISDIR`, `EINVAL`).
   */
  read(path: string, range: { offset: number; limit: number }): Promise<FileContent>;
  /**
   * Replaces the file's content atomically, keeping its mode; makes missing parent directories. Writes
   * to what a symbolic link names, inside the sandbox. If the sandbox dies meanwhile, the file has its
   * content of before or the new one, and nothing else is left by the time the hand's next sandbox is
   * there.
   */
  write(path: string, content: Uint8Array): Promise<void>;
  /**
   * As `write`, if the file still has this version (null: if nothing is there), and else does nothing;
   * whether it did. A symbolic link at the path is itself what is there. Permissions of the file that is
   * replaced do not count.
   */
  writeIf(path: string, content: Uint8Array, version: string | null): Promise<boolean>;
  /**
   * Deletes what is no directory, if it still has this version, with the directories below `root` that
   * are empty then; whether it did. True for what is not there.
   */
  removeIf(path: string, options: { version: string; root: string }): Promise<boolean>;
  /** Undefined if there is nothing at the path. Does not follow a final symbolic link. */
  stat(path: string): Promise<FileStat | undefined>;
  /**
   * What is below a directory, at any depth, except directories: at most `limit` (and never more than
   * some ten thousand), symbolic links not followed. Empty if it is absent.
   */
  list(path: string, limit: number): Promise<readonly FileStat[]>;
  /**
   * Shows the files that this recipe mounts under `/mnt/session/uploads`, and no others there; of the rest of
   * the recipe nothing changes. To be called at any time: what programs see of a file is all of it or
   * nothing. Rejects with `SandboxUnavailableError` where one cannot be had.
   */
  showFiles(recipe: Recipe): Promise<void>;
  /**
   * What its way out has decided since this was asked the last time of any sandbox of the hand; also of a
   * dead one. Empty without a network.
   */
  takeEgress(): readonly EgressRecord[];
  /** What it was made as; undefined once it was told. */
  takeFacts(): SandboxFacts | undefined;
  /** Ends it; resolves when all of its processes are gone. */
  close(): Promise<void>;
}

export interface FileContent {
  readonly bytes: Uint8Array;
  readonly size_bytes: number;
}

/** No sandbox can be made here. The message says why and what to do, in a sentence. */
export class SandboxUnavailableError extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = "SandboxUnavailableError";
  }
}

/** The sandbox died; a new one can be made on the same workspace. */
export class SandboxGoneError extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = "SandboxGoneError";
  }
}

/** A file operation that the inside refused, such as `ENOENT`. */
export class SandboxFileError extends Error {
  readonly code: string;
  /** The limits for which it was refused, if it was for one. */
  readonly limits: readonly LimitHit[];

  constructor(code: string, message: string, limits: readonly LimitHit[] = []) {
    super(message);
    this.name = "SandboxFileError";
    this.code = code;
    this.limits = limits;
  }
}
