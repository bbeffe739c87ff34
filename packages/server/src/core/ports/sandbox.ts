import type { Recipe } from "./hands.ts";

/** What a provider can enforce on this machine, found out by trying. */
export interface SandboxCapabilities {
  readonly provider: string;
  /** `root`: own host uid per sandbox. `rootless`: user namespaces only. */
  readonly mode: "root" | "rootless";
  readonly memoryLimit: boolean;
  readonly cpuLimit: boolean;
  readonly processLimit: boolean;
  readonly diskLimit: boolean;
}

export interface ProvisionRequest {
  readonly workspaceId: string;
  readonly handId: string;
  readonly recipe: Recipe;
}

/** Makes sandboxes of one kind and proves them gone. */
export interface SandboxProvider {
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
}

export interface ExecRequest {
  /** Run by `bash` in the sandbox's one persistent shell: variables, functions and `cd` stay. */
  readonly command: string;
  /** Milliseconds; when they are over the shell and everything it started are killed. */
  readonly timeoutMs: number;
}

export interface ExecResult {
  /** Null if the shell ended without one (killed, timed out, `exit`-ed shells report their status). */
  readonly exitCode: number | null;
  readonly ended: "exited" | "timeout" | "cancelled";
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
   * interleaved as they arrive. Ends when the command ends, also if background processes keep its
   * output open. Aborting the signal kills the shell and everything it started, and resolves with
   * `cancelled`; the next command gets a new shell.
   */
  exec(
    request: ExecRequest,
    onOutput: (chunk: Uint8Array) => void,
    signal: AbortSignal,
  ): Promise<ExecResult>;
  /** Ends the persistent shell and everything it started; the next command gets a new one. */
  restartShell(): Promise<void>;
  /** Bytes from `offset`, at most `limit`; `size_bytes` is that of the whole file. */
  read(path: string, range: { offset: number; limit: number }): Promise<FileContent>;
  /** Replaces the file's content atomically; makes missing parent directories. */
  write(path: string, content: Uint8Array): Promise<void>;
  /** Undefined if there is nothing at the path. Does not follow a final symbolic link. */
  stat(path: string): Promise<FileStat | undefined>;
  /** Files below a directory, at most `limit`, symbolic links not followed. Empty if it is absent. */
  list(path: string, limit: number): Promise<readonly FileStat[]>;
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

  constructor(code: string, message: string) {
    super(message);
    this.name = "SandboxFileError";
    this.code = code;
  }
}
