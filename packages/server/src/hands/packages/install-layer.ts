import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import type { PackageManager } from "@drover/api";
import type { Recipe } from "../../core/ports/hands.ts";
import {
  type Outfit,
  type Sandbox,
  SandboxGoneError,
  type SandboxProvider,
} from "../../core/ports/sandbox.ts";
import { failPoint } from "../../lib/fail-point.ts";
import { copyTree, giveTree, openTree, treeBytes } from "../sandbox/local/own-tree.ts";
import { installFailure, PackageError } from "./install-error.ts";
import type { Layer, LayerStore } from "./layer-store.ts";
import { AUTHORITY_VARIABLES, MANAGERS, type PackageRegistries } from "./managers.ts";
import { registryHosts } from "./registry-hosts.ts";

export interface InstallOptions {
  readonly provider: Pick<SandboxProvider, "provision" | "dispose">;
  readonly store: LayerStore;
  readonly registries: PackageRegistries;
  readonly limits: InstallLimits;
}

export interface InstallLimits {
  /** For one layer. */
  readonly installMs: number;
  /** On disk, looked at every `lookMs`. */
  readonly bytes: number;
  readonly lookMs: number;
}

export interface LayerRequest {
  readonly key: string;
  readonly manager: PackageManager;
  /** At least one. */
  readonly names: readonly string[];
  /** The root file system to install with, or for apt, on a copy of which; absent for the host's. */
  readonly root: string | undefined;
}

const OUTPUT_KEPT = 16_384;

/**
 * Installs packages in a sandbox of its own, which reaches registries alone, and keeps what came of it as
 * a layer. Rejects with `PackageError`, or as a provider does, and leaves nothing.
 */
export async function installLayer(options: InstallOptions, request: LayerRequest): Promise<Layer> {
  const { provider, store, limits } = options;
  const id = `install-${randomBytes(12).toString("hex")}`;
  const signal = AbortSignal.timeout(limits.installMs);
  const tree = await store.makeDraft(id);
  try {
    failPoint("packages.before_install");
    if (request.manager === "apt" && request.root !== undefined) await copyTree(request.root, tree);
    else await mkdir(tree);
    const sandbox = await provider.provision(
      provisionRequest(options, request, { id, tree }),
      signal,
    );
    try {
      await installAll(sandbox, options, request, { tree, signal });
    } finally {
      await sandbox.close();
    }
    failPoint("packages.after_install");
    // Nobody can write it any more; what becomes of it is the host's.
    if (process.getuid?.() === 0) await giveTree(tree, 0);
    await openTree(tree);
    // Before there is a layer: what a killed process leaves is found by its draft.
    await provider.dispose(id);
    return await store.publish(id, request.key, request);
  } finally {
    await provider.dispose(id);
    await store.removeDraft(id);
  }
}

function provisionRequest(
  { registries }: InstallOptions,
  { manager, root }: LayerRequest,
  { id, tree }: { id: string; tree: string },
) {
  const recipe: Recipe = {
    // Alone has what an installation needs: a tree that it may write, as root of its own if apt is to.
    provider: "bubblewrap",
    base: { type: "host" },
    mounts: [],
    network: { type: "limited", hosts: registryHosts(registries) },
  };
  const variables = {
    ...AUTHORITY_VARIABLES,
    ...MANAGERS[manager].variables(registries[manager]),
  };
  const outfit: Outfit =
    manager === "apt"
      ? { root: tree, layers: {}, variables, workshop: { type: "root" } }
      : {
          ...(root !== undefined && { root }),
          ...{ layers: {}, variables },
          workshop: { type: "layer", name: manager, folder: tree },
        };
  return { workspaceId: "packages", handId: id, recipe, outfit };
}

interface Work {
  readonly tree: string;
  readonly signal: AbortSignal;
}

async function installAll(
  sandbox: Sandbox,
  { registries, limits }: InstallOptions,
  { manager, names }: LayerRequest,
  { tree, signal }: Work,
): Promise<void> {
  const use = MANAGERS[manager];
  const full = new AbortController();
  const watch = watchSize(tree, limits, full);
  const stop = AbortSignal.any([signal, full.signal]);
  try {
    const fail = (batch: readonly string[], { why = "", output }: Ran) => {
      if (!full.signal.aborted) return installFailure(manager, batch, { why, output });
      const most = `more than ${Math.floor(limits.bytes / 1024 ** 2)} MB`;
      return installFailure(manager, batch, { why: most, output: "" });
    };
    const found = await run(sandbox, `command -v ${use.program}`, limits, stop);
    if (found.why !== undefined && !found.isEnded) throw fail(names, found);
    if (found.why !== undefined) {
      throw new PackageError(
        `the packages of the environment could not be installed: there is no ${use.program} for ${manager} ${names.join(", ")} on the sandboxes' base`,
      );
    }
    for (const batch of use.together ? [names] : names.map((name) => [name])) {
      const command = use.command(batch.map(quoted).join(" "), registries[manager]);
      const ran = await run(sandbox, command, limits, stop);
      if (full.signal.aborted || ran.why !== undefined) throw fail(batch, ran);
    }
  } catch (error) {
    if (!(error instanceof SandboxGoneError)) throw error;
    throw installFailure(manager, names, { why: error.message, output: "" });
  } finally {
    await watch();
  }
}

interface Ran {
  /** What went wrong; undefined for nothing. */
  readonly why: string | undefined;
  readonly output: string;
  /** By itself. */
  readonly isEnded: boolean;
}

async function run(
  sandbox: Sandbox,
  command: string,
  { installMs }: InstallLimits,
  signal: AbortSignal,
): Promise<Ran> {
  let output = "";
  const onOutput = (chunk: Uint8Array) => {
    output = (output + Buffer.from(chunk).toString("utf8")).slice(-OUTPUT_KEPT);
  };
  const result = await sandbox.exec({ command, timeoutMs: installMs }, onOutput, signal);
  if (result.ended !== "exited") {
    const why = `not done within ${Math.round(installMs / 1000)} s`;
    return { why, output, isEnded: false };
  }
  const { exitCode } = result;
  const why = exitCode === 0 ? undefined : `exit status ${exitCode ?? "unknown"}`;
  return { why, output, isEnded: true };
}

/** Aborts `full` once the tree has grown too big. The returned function ends it. */
function watchSize(
  tree: string,
  { bytes, lookMs }: InstallLimits,
  full: AbortController,
): () => Promise<void> {
  let looking: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    looking = looking.then(async () => {
      // What is deleted while it is looked at is no matter, and the next look is soon.
      const used = await treeBytes(tree).catch(() => 0);
      if (used > bytes) full.abort();
    });
  }, lookMs);
  return async () => {
    clearInterval(timer);
    await looking;
  };
}

/** One word for a shell, whatever is in it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
