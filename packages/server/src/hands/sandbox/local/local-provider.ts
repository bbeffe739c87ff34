import { chmodSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Recipe } from "../../../core/ports/hands.ts";
import {
  type Outfit,
  type ProvisionRequest,
  type Sandbox,
  type SandboxCapabilities,
  type SandboxProvider,
  SandboxUnavailableError,
} from "../../../core/ports/sandbox.ts";
import type { ProviderName } from "../../../core/sandboxes/providers.ts";
import { failPoint } from "../../../lib/fail-point.ts";
import { restoreCheckpoint } from "../../checkpoints/restore-checkpoint.ts";
import { exitOptions, type ProviderEgress } from "../../egress/exit-options.ts";
import { HandLedgers } from "../../egress/hand-ledgers.ts";
import type { SandboxExitOptions } from "../../egress/sandbox-exit.ts";
import {
  copyFolder,
  makeMemoryFolders,
  memoryMounts,
  writableOf,
} from "../../memory/copy-folder.ts";
import { SkillCache } from "../../skills/skill-cache.ts";
import type { AgentSandbox } from "../agent-sandbox.ts";
import { requireLimits } from "../cgroups/require-limits.ts";
import { requireDisk } from "../disk/require-disk.ts";
import type { HandDisk } from "../disk/sandbox-disks.ts";
import { type ConnectedAgent, connectAgent } from "./connect-agent.ts";
import { checkHandId, HandFolder, handsFolderOf } from "./hand-folder.ts";
import { HandTurns } from "./hand-turns.ts";
import { HostUids, ownerOf } from "./host-uids.ts";
import { isSpareId, LocalSpares } from "./local-spares.ts";
import { type MountSources, makeMountTrees, uploadsOf } from "./mount-trees.ts";
import { giveTree } from "./own-tree.ts";
import { hasTransparentEgress, isProbeId, probeBash } from "./probe-sandbox.ts";
import { findRecord, forgetRecord, providerOf } from "./process-record.ts";
import { removeFolder } from "./remove-folder.ts";
import { sandboxFacts } from "./sandbox-facts.ts";
import type { SandboxLauncher } from "./sandbox-launcher.ts";
import { DEFAULT_LIMITS, type SandboxLimits } from "./sandbox-layout.ts";
import { makeTrustTree, type SecretOutfit, secretOutfit } from "./secret-outfit.ts";
import type { UploadTree } from "./upload-tree.ts";

export interface LocalProviderOptions extends Omit<MountSources, "skills"> {
  /** Absolute. Hands are kept in `hands/` below it. */
  readonly dataFolder: string;
  readonly limits?: Partial<SandboxLimits>;
  /** `required`: no sandbox is made where one of the limits cannot be enforced. */
  readonly enforce?: "required" | "where_possible";
  /** What may be dialled for sandboxes that have a network; without it they are refused. */
  readonly egress?: ProviderEgress;
  /** An agent that needs longer for anything but a command is taken for lost, and its sandbox ended. */
  readonly answerMs?: number;
  /** Hears of what went wrong without anybody waiting for it. */
  readonly onWarning?: (message: string, error: unknown) => void;
}

/** An agent answers within milliseconds; but a machine may be busy and a disk slow. */
const ANSWER_MS = 20_000;
const END_EARLIER_MS = 15_000;

type Exit = Omit<SandboxExitOptions, "listeners">;

/** What runs in a hand's folder, and is not yet the hand's sandbox. */
export interface MadeSandbox {
  readonly agent: ConnectedAgent;
  readonly launcher: SandboxLauncher;
  readonly disk: HandDisk | undefined;
  readonly uploads: UploadTree;
  /** Whether it has a kernel uid of its own. */
  readonly isForeign: boolean;
}

/**
 * Sandboxes on this machine, by any of the launchers it has: the recipe says by which. To be used by the
 * main thread of one process per data folder.
 */
export class LocalProvider implements SandboxProvider {
  readonly #options: LocalProviderOptions;
  readonly names: readonly [ProviderName, ...ProviderName[]];
  readonly #launchers: readonly SandboxLauncher[];
  readonly #retired: readonly SandboxLauncher[];
  readonly #handsFolder: string;
  readonly #uids: HostUids;
  readonly #skills: SkillCache;
  readonly #ledgers = new HandLedgers();
  readonly #live = new Map<string, AgentSandbox>();
  /** One provision, disposal or reaping of a hand at a time. */
  readonly #turns = new HandTurns();
  readonly spares: LocalSpares;

  /** `retired` make no sandbox, but end those that they made before they were. */
  constructor(
    options: LocalProviderOptions,
    launchers: readonly [SandboxLauncher, ...SandboxLauncher[]],
    retired: readonly SandboxLauncher[] = [],
  ) {
    this.#options = options;
    this.#launchers = launchers;
    this.#retired = retired;
    const [first, ...others] = launchers;
    this.names = [first.name, ...others.map(({ name }) => name)];
    const dataFolder = resolve(options.dataFolder);
    this.#handsFolder = handsFolderOf(dataFolder);
    this.#uids = new HostUids(this.#handsFolder);
    this.#skills = new SkillCache(join(dataFolder, "skill-cache"));
    this.spares = new LocalSpares({
      handsFolder: this.#handsFolder,
      turns: this.#turns,
      blobPath: options.blobPath,
      launcherOf: (name) => this.#launcherOf(name),
      exitOf: (request) => this.#exitOf(request),
      make: (request, signal) => this.#make(request, signal),
      become: (made, request, exit) => this.#become(made, request, exit),
      remove: (spareId) => this.dispose(spareId),
    });
  }

  async capabilities(
    signal: AbortSignal,
    name: ProviderName = this.names[0],
  ): Promise<SandboxCapabilities> {
    const { egress, onWarning } = this.#options;
    await probeBash(this, name, signal);
    const launcher = this.#launcherOf(name);
    return {
      provider: name,
      mode: launcher.mode,
      memoryLimit: launcher.can("memory"),
      cpuLimit: launcher.can("cpu"),
      processLimit: true,
      diskLimit: (await launcher.disks?.())?.can ?? false,
      transparentEgress:
        egress !== undefined && (await hasTransparentEgress(this, { name, onWarning }, signal)),
    };
  }

  provision(request: ProvisionRequest, signal: AbortSignal): Promise<Sandbox> {
    return this.#turns.take(request.handId, async () => {
      try {
        checkHandId(request.handId);
        return await this.#provision(request, signal);
      } catch (cause) {
        if (cause instanceof SandboxUnavailableError) throw cause;
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new SandboxUnavailableError(`the sandbox could not be prepared: ${reason}`, {
          cause,
        });
      }
    });
  }

  async reap(): Promise<void> {
    this.#makeHandsFolder();
    await this.#skills.clear();
    const names = readdirSync(this.#handsFolder);
    // First, so that one that was about to become a hand's is not ended by two.
    const spares = await Promise.allSettled(
      names
        .filter((name) => isSpareId(name) && !this.spares.has(name))
        .map((spareId) => this.dispose(spareId)),
    );
    const hands = await Promise.allSettled(
      names
        .filter((name) => !isSpareId(name))
        .map((handId) =>
          this.#turns.take(handId, async () => {
            if (this.#live.has(handId)) return;
            // Nobody disposes of what was only tried out any more.
            if (isProbeId(handId)) await this.#dispose(handId);
            else await this.#endEarlier(join(this.#handsFolder, handId));
          }),
        ),
    );
    const ended = [...spares, ...hands];
    for (const launcher of this.#launchers) await this.#reapUnnamed(launcher);
    const failure = ended.find((outcome) => outcome.status === "rejected");
    if (failure) throw failure.reason;
  }

  async dispose(handId: string): Promise<void> {
    checkHandId(handId);
    await this.#turns.take(handId, () => this.#dispose(handId));
  }

  async #dispose(handId: string): Promise<void> {
    const folder = new HandFolder(this.#handsFolder, handId);
    await this.#endLive(handId);
    this.#ledgers.forget(handId);
    if (!existsSync(folder.path)) return;
    await this.#endEarlier(folder.path);
    const uid = ownerOf(folder.workspace);
    await removeFolder(folder.path, [...folder.writable, copyFolder(folder.path).path]);
    if (uid !== undefined) this.#uids.release(uid);
  }

  async #provision(request: ProvisionRequest, signal: AbortSignal): Promise<Sandbox> {
    const { handId, recipe } = request;
    const secrets = await secretOutfit(request, signal);
    const exit = this.#exitOf(request, secrets);
    const made = await this.#make(request, signal, secrets);
    const sandbox = this.#become(made, request, exit);
    const { checkpoint } = recipe;
    if (checkpoint === undefined) return sandbox;
    try {
      const handFolder = new HandFolder(this.#handsFolder, handId).path;
      await restoreCheckpoint(sandbox, { handFolder, checkpoint }, signal);
    } catch (error) {
      await sandbox.close();
      throw error;
    }
    return sandbox;
  }

  /** Starts it, in a network that leads nowhere yet. */
  async #make(
    request: ProvisionRequest,
    signal: AbortSignal,
    secrets?: SecretOutfit,
  ): Promise<MadeSandbox> {
    const { handId, recipe, outfit, gate } = request;
    const launcher = this.#makerOf(request);
    this.#makeHandsFolder();
    await launcher.prepare();
    const isRequired = this.#options.enforce === "required";
    if (isRequired) requireLimits(launcher, this.#limits);
    const disks = await launcher.disks?.();
    if (signal.aborted) {
      const message = "the making of the sandbox was given up";
      throw new SandboxUnavailableError(message, { cause: signal.reason });
    }
    const folder = new HandFolder(this.#handsFolder, handId);
    await this.#endLive(handId);
    await this.#endEarlier(folder.path);
    const disk = disks?.of(folder);
    if (isRequired) requireDisk(this.#limits, disk, disks);
    failPoint("hands.provision.after_disk");
    folder.make();
    const memory = makeMemoryFolders(folder.path, memoryMounts(recipe));
    const writable = [...folder.writable, ...writableOf(memory)];
    const uid = launcher.mode === "root" ? this.#uids.claim(handId, writable) : undefined;
    if (uid === undefined) folder.checkOwner();
    else if (outfit?.workshop) await giveTree(workshopFolder(outfit), uid);
    const isForeign = uid !== undefined;
    const { blobPath, installedPath, onWarning, answerMs = ANSWER_MS } = this.#options;
    const place = { handFolder: folder.path, isForeign };
    const sources = { blobPath, installedPath, skills: this.#skills };
    const { trees, uploads } = await makeMountTrees(request, place, sources);
    const trust = makeTrustTree(folder.path, secrets);
    failPoint("hands.provision.after_folder");
    const process = await launcher.launch(
      {
        ...{ handId, recipe, outfit, folder, uid, disk, limits: this.#limits },
        trees: { ...trees, memory, ...(trust !== undefined && { trust }) },
        variables: secrets?.variables ?? {},
        hasExit: gate !== undefined || recipe.network.type !== "none",
      },
      signal,
    );
    failPoint("hands.provision.after_launch");
    const connected = { handId, handFolder: folder.path, process, answerMs, onWarning };
    const agent = await connectAgent(connected, signal);
    return { agent, launcher, disk, uploads, isForeign };
  }

  /** What was made in the hand's folder is its sandbox from now on. */
  #become(
    { agent, launcher, disk, uploads }: MadeSandbox,
    { handId }: ProvisionRequest,
    exit: Exit | undefined,
  ): AgentSandbox {
    const sandbox = agent.sandbox({
      ...{ exit, disk },
      showFiles: (next: Recipe) => uploads.show(uploadsOf(next)),
      facts: sandboxFacts({ launcher, disk, limits: this.#limits }),
    });
    const forget = () => {
      if (this.#live.get(handId) === sandbox) this.#live.delete(handId);
    };
    this.#live.set(handId, sandbox);
    sandbox.closed.then(forget, forget);
    return sandbox;
  }

  /** Throws `SandboxUnavailableError` for a way out that is not to be had. */
  #exitOf(request: ProvisionRequest, secrets?: SecretOutfit): Exit | undefined {
    return exitOptions(request, {
      egress: this.#options.egress,
      authority: secrets?.authority,
      ledger: this.#ledgers.of(request.handId),
      onProblem: (error) => {
        this.#options.onWarning?.("a connection of a sandbox was given up", error);
      },
    });
  }

  /** What makes a base or packages is no session's: who can make it does, chosen or not. */
  #makerOf({ recipe: { provider }, outfit }: ProvisionRequest): SandboxLauncher {
    return outfit?.workshop === undefined ? this.#launcherOf(provider) : this.#enderOf(provider);
  }

  #enderOf(name: ProviderName): SandboxLauncher {
    const retired = this.#retired.find((launcher) => launcher.name === name);
    return retired ?? this.#launcherOf(name);
  }

  #launcherOf(name: ProviderName): SandboxLauncher {
    const launcher = this.#launchers.find((candidate) => candidate.name === name);
    if (launcher) return launcher;
    throw new SandboxUnavailableError(
      `the session was made with sandboxes of ${name}, which this server has no longer (DROVER_SANDBOX_PROVIDER)`,
    );
  }

  get #limits(): SandboxLimits {
    return { ...DEFAULT_LIMITS, ...this.#options.limits };
  }

  /** Where its end cannot be proved, the record of it stays, and with that `endEarlier` decides. */
  async #endLive(handId: string): Promise<void> {
    try {
      await this.#live.get(handId)?.close();
    } catch (error) {
      this.#options.onWarning?.(`the sandbox of ${handId} could not be closed`, error);
    }
    this.#live.delete(handId);
  }

  /** Ends what an earlier process of this installation has left of the hand's sandbox. */
  async #endEarlier(handFolder: string): Promise<void> {
    try {
      const record = findRecord(handFolder);
      if (!record) return;
      await this.#enderOf(providerOf(record)).endRecorded(record, END_EARLIER_MS);
      forgetRecord(handFolder, record);
    } catch (cause) {
      const message = "an earlier sandbox on this workspace is not proved gone";
      throw new SandboxUnavailableError(message, { cause });
    }
  }

  /** What no hand's record names is on no hand's workspace, so that nothing has to wait for its end. */
  async #reapUnnamed(launcher: SandboxLauncher): Promise<void> {
    try {
      await launcher.reap?.();
    } catch (error) {
      const what = `what earlier sandboxes of ${launcher.name} left is not removed`;
      this.#options.onWarning?.(what, error);
    }
  }

  #makeHandsFolder(): void {
    mkdirSync(this.#handsFolder, { recursive: true, mode: 0o700 });
    chmodSync(this.#handsFolder, 0o700);
  }
}

function workshopFolder({ root, workshop }: Outfit): string {
  const folder = workshop?.type === "layer" ? workshop.folder : root;
  if (folder === undefined) throw new Error("there is nothing to install into");
  return folder;
}
