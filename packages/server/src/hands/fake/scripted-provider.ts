import type { EgressRecord, Recipe } from "../../core/ports/hands.ts";
import {
  type ExecResult,
  type FileContent,
  type FileStat,
  type ProvisionRequest,
  type RunResult,
  type Sandbox,
  type SandboxCapabilities,
  SandboxFileError,
  SandboxGoneError,
  type SandboxProvider,
} from "../../core/ports/sandbox.ts";

/**
 * A sandbox without an inside, for tests of what is around sandboxes: it has files and a death, and
 * runs nothing. It does not pass the port's contract and is no substitute for a provider.
 */
export class ScriptedSandbox implements Sandbox {
  readonly handId: string;
  readonly closed: Promise<string>;
  readonly files = new Map<string, { bytes: Uint8Array; version: string }>();
  readonly egress: EgressRecord[] = [];
  /** The places of the files that are mounted. */
  shown: readonly string[] = [];
  /** Called at each read, for a test that changes a file meanwhile. */
  onRead: (path: string) => void = () => {};
  /** Awaited by `close`, for a test of processes that take long to die. */
  slowEnd: Promise<void> = Promise.resolve();
  readonly #resolveClosed: (why: string) => void;
  #death: string | undefined;
  #writes = 0;

  constructor(handId: string) {
    this.handId = handId;
    const { promise, resolve } = Promise.withResolvers<string>();
    this.closed = promise;
    this.#resolveClosed = resolve;
  }

  get isDead(): boolean {
    return this.#death !== undefined;
  }

  /** Dies as if killed from outside, with all its processes. */
  die(why: string): void {
    this.#death ??= why;
    this.#resolveClosed(why);
  }

  put(path: string, text: string): void {
    this.#writes += 1;
    this.files.set(path, { bytes: Buffer.from(text), version: `v${this.#writes}` });
  }

  async exec(): Promise<ExecResult> {
    throw new Error("a scripted sandbox runs nothing");
  }

  async run(): Promise<RunResult> {
    throw new Error("a scripted sandbox runs nothing");
  }

  async restartShell(): Promise<void> {}

  async read(path: string, range: { offset: number; limit: number }): Promise<FileContent> {
    this.#assertAlive();
    this.onRead(path);
    const file = this.files.get(path);
    if (!file) throw new SandboxFileError("ENOENT", `${path} is not there`);
    const bytes = file.bytes.subarray(range.offset, range.offset + range.limit);
    return { bytes, size_bytes: file.bytes.byteLength };
  }

  async write(path: string, content: Uint8Array): Promise<void> {
    this.#assertAlive();
    this.put(path, Buffer.from(content).toString());
  }

  async writeIf(path: string, content: Uint8Array, version: string | null): Promise<boolean> {
    this.#assertAlive();
    if ((this.files.get(path)?.version ?? null) !== version) return false;
    this.put(path, Buffer.from(content).toString());
    return true;
  }

  async removeIf(path: string, { version }: { version: string }): Promise<boolean> {
    this.#assertAlive();
    const file = this.files.get(path);
    if (file !== undefined && file.version !== version) return false;
    this.files.delete(path);
    return true;
  }

  async stat(path: string): Promise<FileStat | undefined> {
    this.#assertAlive();
    const file = this.files.get(path);
    return file && describe(path, file);
  }

  async list(path: string, limit: number): Promise<readonly FileStat[]> {
    this.#assertAlive();
    const below = [...this.files].filter(([name]) => name.startsWith(`${path}/`));
    return below.slice(0, limit).map(([name, file]) => describe(name, file));
  }

  async showFiles({ mounts }: Recipe): Promise<void> {
    this.shown = mounts.map(({ mount_path }) => mount_path);
  }

  takeEgress(): readonly EgressRecord[] {
    return this.egress.splice(0);
  }

  takeFacts(): undefined {
    return undefined;
  }

  async close(): Promise<void> {
    this.#death ??= "closed";
    await this.slowEnd;
    this.#resolveClosed(this.#death);
  }

  #assertAlive(): void {
    if (this.#death !== undefined) throw new SandboxGoneError(this.#death);
  }
}

export class ScriptedProvider implements SandboxProvider {
  /** Every sandbox made, in order. */
  readonly sandboxes: ScriptedSandbox[] = [];
  readonly disposed: string[] = [];
  /** Awaited by `provision` before it makes one; a test may reject or never settle it. */
  onProvision: (request: ProvisionRequest, signal: AbortSignal) => Promise<void> = async () => {};

  readonly names = ["bubblewrap"] as const;

  /** Called with each sandbox before anybody has it, for a test of what is in there already. */
  onMade: (sandbox: ScriptedSandbox) => void = () => {};

  async capabilities(): Promise<SandboxCapabilities> {
    return {
      provider: "scripted",
      mode: "rootless",
      memoryLimit: false,
      cpuLimit: false,
      processLimit: false,
      diskLimit: false,
      transparentEgress: false,
    };
  }

  async provision(request: ProvisionRequest, signal: AbortSignal): Promise<Sandbox> {
    await this.onProvision(request, signal);
    const sandbox = new ScriptedSandbox(request.handId);
    this.onMade(sandbox);
    this.sandboxes.push(sandbox);
    return sandbox;
  }

  async reap(): Promise<void> {}

  async dispose(handId: string): Promise<void> {
    this.disposed.push(handId);
  }
}

function describe(path: string, file: { bytes: Uint8Array; version: string }): FileStat {
  return {
    path,
    type: "file",
    size_bytes: file.bytes.byteLength,
    mtime_ms: 0,
    version: file.version,
  };
}
