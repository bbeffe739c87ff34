import type { Recipe, RepositoryProblem, RepositorySource } from "../../core/ports/hands.ts";
import {
  type RunResult,
  type Sandbox,
  SandboxGoneError,
  type SandboxProvider,
} from "../../core/ports/sandbox.ts";
import { scrubber } from "../../lib/scrub.ts";
import type { Secret } from "../../lib/secret.ts";
import { ARCHIVE_PATH, CLONE_EXITS, CLONE_SCRIPT } from "./clone-script.ts";
import { GATE_URL, GitGate, type GitGateOptions } from "./git-gate.ts";

export interface CloneLimits {
  /** For one attempt: asking the server, fetching, writing the files. */
  readonly cloneMs: number;
  /** That the server may send in one attempt. */
  readonly fetchedBytes: number;
  readonly files: number;
  /** Of all files together, without `.git`. */
  readonly fileBytes: number;
  /** Of the archive that it is moved in. */
  readonly archiveBytes: number;
  readonly silenceMs: number;
}

const GIB = 1024 * 1024 * 1024;

export const CLONE_LIMITS: CloneLimits = {
  cloneMs: 5 * 60_000,
  fetchedBytes: GIB,
  files: 300_000,
  fileBytes: 2 * GIB,
  archiveBytes: 4 * GIB,
  silenceMs: 60_000,
};

/** A repository could not be had; what is shown for it. */
export class CloneError extends Error {
  readonly type: RepositoryProblem["type"];

  constructor(type: RepositoryProblem["type"], message: string) {
    super(message);
    this.name = "CloneError";
    this.type = type;
  }
}

export interface CloneOptions {
  readonly provider: Pick<SandboxProvider, "provision" | "dispose">;
  readonly upstream: Pick<GitGateOptions, "guard" | "connect" | "certificates">;
  readonly limits: CloneLimits;
}

export interface CloneRequest {
  readonly workspaceId: string;
  /** Of the provisioning sandbox. */
  readonly handId: string;
  readonly provider: Recipe["provider"];
  readonly source: RepositorySource;
  readonly token: () => Secret | undefined;
}

/** A repository as it lies in its provisioning sandbox. */
export interface ClonedTree {
  readonly sandbox: Sandbox;
  /** Of a tar archive at `ARCHIVE_PATH`, made by what may be hostile. */
  readonly size_bytes: number;
  /** Undefined for a repository without any. */
  readonly commit: string | undefined;
  readonly isShallow: boolean;
}

/**
 * Clones a repository in a sandbox of its own, which speaks to the repository's server through a gate and to
 * nobody else, and gives the tree to `use`. The sandbox and all that is in it are gone afterwards. A history
 * that is too long to be fetched is left out. Rejects with `CloneError`, or with what `use` rejects with.
 */
export async function cloneRepository<T>(
  options: CloneOptions,
  request: CloneRequest,
  use: (tree: ClonedTree) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const { provider } = options;
  const { handId } = request;
  try {
    // What an earlier process has left of it.
    await provider.dispose(handId);
    return await use(await cloned(options, request, signal));
  } finally {
    await provider.dispose(handId);
  }
}

async function cloned(
  options: CloneOptions,
  request: CloneRequest,
  signal: AbortSignal,
): Promise<ClonedTree> {
  try {
    const tree =
      (await attempt(options, request, "full", signal)) ??
      (await attempt(options, request, "shallow", signal));
    if (tree !== undefined) return tree;
  } catch (error) {
    if (!(error instanceof SandboxGoneError)) throw error;
    const message = `the sandbox that cloned it has died (${error.message})`;
    throw new CloneError("repository_clone_error", message);
  }
  throw new CloneError("repository_clone_error", "it is too large to be fetched");
}

/** Undefined if it is too much, or takes too long. */
async function attempt(
  { provider, upstream, limits }: CloneOptions,
  { workspaceId, handId, source, token, provider: name }: CloneRequest,
  depth: "full" | "shallow",
  signal: AbortSignal,
): Promise<ClonedTree | undefined> {
  const { url } = source;
  const { fetchedBytes: bytesMax, silenceMs } = limits;
  const gate = new GitGate({ ...upstream, url, token, bytesMax, silenceMs });
  // By the host's git, whatever base the session's own sandbox has.
  const recipe: Recipe = {
    provider: name,
    base: { type: "host" },
    mounts: [],
    network: { type: "none" },
  };
  const request = { workspaceId, handId, recipe, gate: gate.answer };
  const sandbox = await provider.provision(request, signal);
  const argv = [
    "/bin/bash",
    "-c",
    CLONE_SCRIPT,
    "clone",
    ...scriptArguments(source, depth, limits),
  ];
  const run = await sandbox.run({ argv, timeoutMs: limits.cloneMs, stdoutBytesMax: 1_024 }, signal);
  signal.throwIfAborted();
  if (gate.problem?.type === "too_large" || run.ended === "timeout") return undefined;
  if (run.ended !== "exited" || run.exitCode !== 0) throw failureOf(gate, run, { source, token });
  const archive = await sandbox.stat(ARCHIVE_PATH);
  const isPlain = archive?.type === "file" && archive.size_bytes <= limits.archiveBytes;
  if (!isPlain) throw new CloneError("repository_clone_error", "its files could not be packed");
  const [commit] = /^[0-9a-f]{40,64}$/m.exec(Buffer.from(run.stdout).toString()) ?? [];
  return { sandbox, size_bytes: archive.size_bytes, commit, isShallow: depth === "shallow" };
}

function scriptArguments(
  { url, checkout }: RepositorySource,
  depth: string,
  { files, fileBytes, archiveBytes }: CloneLimits,
): string[] {
  const [kind, ref] =
    checkout === null
      ? ["default", ""]
      : checkout.type === "branch"
        ? ["branch", checkout.name]
        : ["commit", checkout.sha.toLowerCase()];
  return [url, GATE_URL, depth, kind, ref, ...[files, fileBytes, archiveBytes].map(String)];
}

function failureOf(
  { problem }: GitGate,
  { exitCode, stderr }: RunResult,
  { source, token }: Pick<CloneRequest, "source" | "token">,
): CloneError {
  if (problem?.type === "status") return refusalOf(problem.status, token() !== undefined);
  if (problem?.type === "failed") {
    return new CloneError(
      "repository_clone_error",
      `its server could not be asked: ${scrubbed(problem.message, token)}`,
    );
  }
  switch (exitCode) {
    case CLONE_EXITS.checkout:
      return new CloneError("repository_checkout_error", missingText(source));
    case CLONE_EXITS.noGit:
      return new CloneError("repository_clone_error", "there is no git on the server's machine");
    case CLONE_EXITS.size:
      return new CloneError("repository_clone_error", "its files are too many or too large");
    default: {
      const said = scrubbed(lastWords(stderr), token);
      return new CloneError("repository_clone_error", said === "" ? "git failed" : `git: ${said}`);
    }
  }
}

function refusalOf(status: number, hasToken: boolean): CloneError {
  switch (status) {
    case 401:
      return new CloneError(
        "repository_authentication_error",
        hasToken
          ? "its server does not take the token"
          : "its server wants a token, and there is none: it is private, or not there",
      );
    case 403:
      return new CloneError(
        "repository_forbidden_error",
        hasToken ? "the token may not read it" : "its server lets nobody read it without a token",
      );
    case 404:
    case 410:
      return new CloneError(
        "repository_not_found_error",
        hasToken ? "it is not there, or its token may not see it" : "it is not there, or private",
      );
    default:
      return new CloneError("repository_clone_error", `its server answered with status ${status}`);
  }
}

function missingText({ checkout }: RepositorySource): string {
  if (checkout === null) return "its default branch is not there";
  return checkout.type === "branch"
    ? `it has no branch ${checkout.name}`
    : `it has no commit ${checkout.sha}`;
}

/** Of what git said, the line that tells why it gave up. */
function lastWords(stderr: Uint8Array): string {
  const lines = Buffer.from(stderr)
    .toString("utf8")
    .split(/[\r\n]+/);
  const fatal = lines.find((line) => /^(fatal|error):/.test(line)) ?? "";
  return fatal.replace(/^(fatal|error):\s*/, "");
}

function scrubbed(text: string, token: () => Secret | undefined): string {
  const secret = token()?.reveal();
  const scrub = scrubber(secret === undefined ? [] : [secret], { lengthMax: 300 });
  return scrub(text.replaceAll(/[\p{Cc}\s]+/gu, " ").trim());
}
