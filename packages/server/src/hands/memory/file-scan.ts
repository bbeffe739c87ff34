import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { memoryContentBytesMax } from "@drover/api";
import { pathProblem } from "../../core/memory/path.ts";
import type { UnstoredReason } from "../../core/ports/hands.ts";
import { type FileStat, type Sandbox, SandboxFileError } from "../../core/ports/sandbox.ts";
import { eachOf } from "./each-of.ts";

/** Files looked at in one store's folder: more than it may have memories, so that all can be replaced. */
const FILES_MAX = 4_000;
/** The agent's answer to a listing ends about here, and tells not whether there was more. */
const LIST_BYTES_MAX = 1_400_000;
const LIST_ENTRY_BYTES = 150;
/** The agent writes beside a file before it takes its place; where it was killed, this is left. */
const LEFT_BY_AGENT = /(?:^|\/)\.drover-write-\d+-\d+$/;

export interface FoundFile {
  readonly sha256: string;
  readonly version: string;
}

export interface UnstorableFile {
  readonly path: string;
  readonly reason: UnstoredReason;
  /** Changes with the file. */
  readonly version: string;
}

/** What a store's folder has inside the sandbox. */
export interface Scan {
  readonly files: ReadonlyMap<string, FoundFile>;
  /** Contents of the files that were asked for. */
  readonly contents: ReadonlyMap<string, string>;
  /** What is there and is no memory. */
  readonly unstorable: readonly UnstorableFile[];
}

export interface ScanRequest {
  readonly mountPath: string;
  /** Whether the content of such a file is wanted. */
  readonly isWanted: (path: string, sha256: string) => boolean;
}

/** Looks through one store's folder, from inside the sandbox. Reads again only what has changed. */
export class FileScanner {
  /** By path, what the file was at its last reading. */
  #seen: ReadonlyMap<string, FoundFile> = new Map();

  /** Rejects only if the sandbox is gone. */
  async scan(sandbox: Sandbox, request: ScanRequest, signal: AbortSignal): Promise<Scan> {
    const listed = await sandbox.list(request.mountPath, FILES_MAX + 1);
    const files = new Map<string, FoundFile>();
    const contents = new Map<string, string>();
    const unstorable: UnstorableFile[] = isCutOff(listed)
      ? [{ path: "/", reason: "too_many", version: "" }]
      : [];
    const refuse = (path: string, reason: UnstoredReason, version: string) =>
      unstorable.push({ path, reason, version });
    await eachOf(listed, signal, async (stat) => {
      const path = stat.path.slice(request.mountPath.length);
      if (!stat.path.startsWith(`${request.mountPath}/`) || LEFT_BY_AGENT.test(path)) return;
      const problem = problemOf(path, stat);
      if (problem !== undefined) return void refuse(path, problem, stat.version);
      const seen = this.#seen.get(path);
      if (seen?.version === stat.version && !request.isWanted(path, seen.sha256)) {
        files.set(path, seen);
        return;
      }
      const read = await readWhole(sandbox, stat);
      if (typeof read === "string") return void refuse(path, read, stat.version);
      const sha256 = createHash("sha256").update(read).digest("hex");
      files.set(path, { sha256, version: stat.version });
      if (request.isWanted(path, sha256)) contents.set(path, read.toString("utf8"));
    });
    this.#seen = files;
    return { files, contents, unstorable };
  }
}

/** Whether there is certainly nothing; what cannot be looked at may be there. */
export async function isAbsent(sandbox: Sandbox, path: string): Promise<boolean> {
  try {
    return (await sandbox.stat(path)) === undefined;
  } catch (error) {
    if (error instanceof SandboxFileError) return false;
    throw error;
  }
}

function isCutOff(listed: readonly FileStat[]): boolean {
  const bytes = listed.reduce((sum, { path }) => sum + path.length + LIST_ENTRY_BYTES, 0);
  return listed.length > FILES_MAX || bytes > LIST_BYTES_MAX;
}

function problemOf(path: string, stat: FileStat): UnstoredReason | undefined {
  if (stat.type !== "file") return "not_a_file";
  if (!path.isWellFormed() || pathProblem(path) !== undefined) return "bad_path";
  return stat.size_bytes > memoryContentBytesMax ? "too_large" : undefined;
}

/** The file as of its version, or why it is no memory. What the inside answers is not trusted. */
async function readWhole(sandbox: Sandbox, stat: FileStat): Promise<Buffer | UnstoredReason> {
  try {
    const { bytes } = await sandbox.read(stat.path, {
      offset: 0,
      limit: memoryContentBytesMax + 1,
    });
    const after = await sandbox.stat(stat.path);
    if (after?.version !== stat.version || bytes.byteLength !== stat.size_bytes) return "changing";
    return isUtf8(bytes) && !bytes.includes(0) ? Buffer.from(bytes) : "not_text";
  } catch (error) {
    if (error instanceof SandboxFileError) return "unreadable";
    throw error;
  }
}
