import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { SandboxNetwork } from "../../../core/ports/hands.ts";
import {
  type ProvisionRequest,
  type Sandbox,
  type SandboxCapabilities,
  SandboxGoneError,
  type SandboxProvider,
  SandboxUnavailableError,
} from "../../../core/ports/sandbox.ts";
import { failPoint } from "../../../lib/fail-point.ts";
import { checkpointMount, restoreCheckpoint } from "../../checkpoints/restore-checkpoint.ts";
import { HandLedgers } from "../../egress/hand-ledgers.ts";
import { SandboxExit } from "../../egress/sandbox-exit.ts";
import type { WayOutOptions } from "../../egress/way-out.ts";
import { SkillCache } from "../../skills/skill-cache.ts";
import { makeSkillTree } from "../../skills/skill-tree.ts";
import type { AgentSandbox } from "../agent-sandbox.ts";
import { ControlGroups } from "../cgroups/control-groups.ts";
import { requireLimits } from "../cgroups/require-limits.ts";
import { seccompFilter } from "../seccomp/seccomp-filter.ts";
import { type BaseFolders, writeBase } from "./base-files.ts";
import {
  agentCommand,
  bwrapArguments,
  type SandboxLimits,
  type ShownFolders,
} from "./bwrap-arguments.ts";
import { checkMachine } from "./check-machine.ts";
import { connectAgent } from "./connect-agent.ts";
import { checkHandId, HandFolder } from "./hand-folder.ts";
import { HostUids, ownerOf } from "./host-uids.ts";
import { launcherPlan } from "./launcher-plan.ts";
import { planLimits } from "./plan-limits.ts";
import { endRecorded, findRecord, forgetRecord, recordLaunch } from "./process-record.ts";
import { removeFolder } from "./remove-folder.ts";
import { type Launch, SandboxProcess } from "./sandbox-process.ts";
import { makeUploadTree } from "./upload-tree.ts";

export interface BubblewrapProviderOptions {
  /** Absolute. Hands are kept in `hands/` below it. */
  readonly dataFolder: string;
  /** The file that holds a blob. */
  readonly blobPath: (workspaceId: string, sha256: string) => string;
  /** The file that holds a blob of the skills that are there for all workspaces. */
  readonly installedPath?: (sha256: string) => string;
  /** `auto`: `root` for uid 0, which gives each hand its own kernel uid; else `rootless`. */
  readonly mode?: "auto" | "root" | "rootless";
  readonly bwrapPath?: string;
  readonly perlPath?: string;
  /** The folder of `agent.pl` and `launch.pl`; by default the one in the sources. */
  readonly agentFolder?: string;
  readonly limits?: Partial<SandboxLimits>;
  /** `required`: no sandbox is made where one of the limits cannot be enforced. */
  readonly enforce?: "required" | "where_possible";
  /** What may be dialled for sandboxes that have a network; without it they are refused. */
  readonly egress?: Pick<WayOutOptions, "guard" | "connect" | "limits">;
  /** An agent that needs longer for anything but a command is taken for lost, and its sandbox ended. */
  readonly answerMs?: number;
  /** Hears of what went wrong without anybody waiting for it. */
  readonly onWarning?: (message: string, error: unknown) => void;
}

const DEFAULT_LIMITS: SandboxLimits = {
  processes: 512,
  openFiles: 4096,
  fileBytes: 16 * 1024 * 1024 * 1024,
};
const READY_MS = 20_000;
/** An agent answers within milliseconds; but a machine may be busy and a disk slow. */
const ANSWER_MS = 20_000;
/** For documentation (RFC 5737): nobody has it, and it is never dialled. */
const PROBED_ADDRESS = "192.0.2.1";
const END_EARLIER_MS = 15_000;

/** What all sandboxes share, made once in a process. */
interface Prepared {
  readonly seccomp: Uint8Array;
  readonly base: BaseFolders;
  readonly groups: ControlGroups;
}

interface LaunchShape {
  readonly trees: Pick<ShownFolders, "uploads" | "skills">;
  readonly uid: number | undefined;
  readonly hasExit: boolean;
}

/** Sandboxes by bubblewrap on this machine. To be used by the main thread of one process per folder. */
export class BubblewrapProvider implements SandboxProvider {
  readonly #options: BubblewrapProviderOptions;
  readonly #mode: "root" | "rootless";
  readonly #handsFolder: string;
  readonly #baseFolder: string;
  readonly #agentFolder: string;
  readonly #uids: HostUids;
  readonly #skills: SkillCache;
  readonly #ledgers = new HandLedgers();
  readonly #live = new Map<string, AgentSandbox>();
  /** One provision, disposal or reaping of a hand at a time. */
  readonly #turns = new Map<string, Promise<unknown>>();
  #prepared: Prepared | undefined;

  constructor(options: BubblewrapProviderOptions) {
    this.#options = options;
    const isRoot = process.getuid?.() === 0;
    this.#mode =
      options.mode === "root" || (options.mode !== "rootless" && isRoot) ? "root" : "rootless";
    const dataFolder = resolve(options.dataFolder);
    this.#handsFolder = join(dataFolder, "hands");
    this.#baseFolder = join(dataFolder, "sandbox-base");
    this.#agentFolder = options.agentFolder ?? join(import.meta.dirname, "../../agent");
    this.#uids = new HostUids(this.#handsFolder);
    this.#skills = new SkillCache(join(dataFolder, "skill-cache"));
  }

  async capabilities(signal: AbortSignal): Promise<SandboxCapabilities> {
    await this.#probe({ type: "none" }, signal, async (sandbox) => {
      const request = { command: "exit 7", timeoutMs: READY_MS };
      const { exitCode } = await sandbox.exec(request, () => undefined, signal);
      if (exitCode !== 7) throw new SandboxUnavailableError("bash does not run in a sandbox");
    });
    const { groups } = this.#prepare();
    return {
      provider: "bubblewrap",
      mode: this.#mode,
      memoryLimit: groups.can("memory"),
      cpuLimit: groups.can("cpu"),
      processLimit: true,
      diskLimit: false,
      transparentEgress: await this.#hasTransparentEgress(signal),
    };
  }

  /** Whether a program that knows of no proxy meets the way out, here where nothing is allowed. */
  async #hasTransparentEgress(signal: AbortSignal): Promise<boolean> {
    if (this.#options.egress === undefined) return false;
    try {
      return await this.#probe({ type: "limited", hosts: [] }, signal, async (sandbox) => {
        // Connected is soon; it ends only once the way out has judged it.
        const command = `read -r </dev/tcp/${PROBED_ADDRESS}/9`;
        await sandbox.exec({ command, timeoutMs: READY_MS }, () => undefined, signal);
        return sandbox.takeEgress().some(({ host }) => host === PROBED_ADDRESS);
      });
    } catch (error) {
      if (!(error instanceof SandboxUnavailableError) || signal.aborted) throw error;
      this.#options.onWarning?.("sandboxes can have no network here", error);
      return false;
    }
  }

  async #probe<T>(
    network: SandboxNetwork,
    signal: AbortSignal,
    use: (sandbox: Sandbox) => Promise<T>,
  ): Promise<T> {
    const handId = `probe-${randomBytes(8).toString("hex")}`;
    const recipe = {
      provider: "bubblewrap",
      base: { type: "host" },
      mounts: [],
      network,
    } as const;
    try {
      return await use(await this.provision({ workspaceId: "probe", handId, recipe }, signal));
    } catch (error) {
      if (!(error instanceof SandboxGoneError)) throw error;
      throw new SandboxUnavailableError(error.message, { cause: error });
    } finally {
      await this.dispose(handId);
    }
  }

  provision(request: ProvisionRequest, signal: AbortSignal): Promise<Sandbox> {
    return this.#inTurn(request.handId, async () => {
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
    this.#prepare();
    await this.#skills.clear();
    const names = readdirSync(this.#handsFolder);
    const ended = await Promise.allSettled(
      names.map((handId) =>
        this.#inTurn(handId, async () => {
          if (!this.#live.has(handId)) await this.#endEarlier(join(this.#handsFolder, handId));
        }),
      ),
    );
    const failure = ended.find((outcome) => outcome.status === "rejected");
    if (failure) throw failure.reason;
  }

  async dispose(handId: string): Promise<void> {
    checkHandId(handId);
    await this.#inTurn(handId, async () => {
      const folder = new HandFolder(this.#handsFolder, handId);
      await this.#endLive(handId);
      this.#ledgers.forget(handId);
      if (!existsSync(folder.path)) return;
      await this.#endEarlier(folder.path);
      const uid = ownerOf(folder.workspace);
      await removeFolder(folder.path, folder.writable);
      if (uid !== undefined) this.#uids.release(uid);
    });
  }

  async #provision(request: ProvisionRequest, signal: AbortSignal): Promise<Sandbox> {
    const { handId } = request;
    const prepared = this.#prepare();
    if (this.#options.enforce === "required") requireLimits(prepared.groups, this.#limits);
    if (signal.aborted) {
      const message = "the making of the sandbox was given up";
      throw new SandboxUnavailableError(message, { cause: signal.reason });
    }
    const folder = new HandFolder(this.#handsFolder, handId);
    await this.#endLive(handId);
    await this.#endEarlier(folder.path);
    folder.make();
    const uid = this.#mode === "root" ? this.#uids.claim(handId, folder.writable) : undefined;
    if (uid === undefined) folder.checkOwner();
    const trees = await this.#trees(request, folder, uid !== undefined);
    const egress = this.#egressOf(request);
    const launch = this.#launch(prepared, folder, { trees, uid, hasExit: egress !== undefined });
    failPoint("hands.provision.after_folder");
    const process = await SandboxProcess.start(launch, signal);
    failPoint("hands.provision.after_launch");
    const { listeners } = process;
    const options = {
      handId,
      handFolder: folder.path,
      process,
      exit: egress && listeners && new SandboxExit({ ...egress, listeners }),
      answerMs: this.#options.answerMs ?? ANSWER_MS,
      onWarning: this.#options.onWarning,
    };
    const sandbox = await connectAgent(options, signal);
    this.#live.set(handId, sandbox);
    sandbox.closed.then(
      () => this.#forget(sandbox),
      () => this.#forget(sandbox),
    );
    const { checkpoint } = request.recipe;
    if (checkpoint === undefined) return sandbox;
    try {
      await restoreCheckpoint(sandbox, { handFolder: folder.path, checkpoint }, signal);
    } catch (error) {
      await sandbox.close();
      throw error;
    }
    return sandbox;
  }

  /** Undefined for a sandbox without a network, which has no way out either. */
  #egressOf({ handId, recipe: { network } }: ProvisionRequest): WayOutOptions | undefined {
    if (network.type === "none") return undefined;
    const { egress } = this.#options;
    if (egress === undefined) {
      throw new SandboxUnavailableError(
        "the session was made with a network and sandboxes are to have none (DROVER_SANDBOX_NETWORK)",
      );
    }
    const { guard, connect, limits } = egress;
    return {
      guard,
      network,
      ledger: this.#ledgers.of(handId),
      onProblem: (error) => {
        this.#options.onWarning?.("a connection of a sandbox was given up", error);
      },
      ...(connect !== undefined && { connect }),
      ...(limits !== undefined && { limits }),
    };
  }

  /** The folders of what is mounted, made anew or as an earlier sandbox of the hand had them. */
  async #trees(
    { workspaceId, recipe }: ProvisionRequest,
    folder: HandFolder,
    isForeign: boolean,
  ): Promise<Pick<ShownFolders, "uploads" | "skills">> {
    const { blobPath, installedPath } = this.#options;
    const uploads = await makeUploadTree({
      handFolder: folder.path,
      mounts: [
        ...recipe.mounts.filter((mount) => mount.type === "file"),
        ...(recipe.checkpoint === undefined ? [] : [checkpointMount(recipe.checkpoint)]),
      ],
      blobPath: (sha256) => blobPath(workspaceId, sha256),
      isForeign,
    });
    const skills = await makeSkillTree({
      folder: join(folder.path, "skills"),
      cache: this.#skills,
      workspaceId,
      mounts: recipe.mounts.filter((mount) => mount.type === "skill"),
      blobPath,
      installedPath,
    });
    return skills === undefined ? { uploads } : { uploads, skills };
  }

  #forget(sandbox: AgentSandbox): void {
    if (this.#live.get(sandbox.handId) === sandbox) this.#live.delete(sandbox.handId);
  }

  #launch(prepared: Prepared, folder: HandFolder, { trees, uid, hasExit }: LaunchShape): Launch {
    const launched = recordLaunch();
    const { group, inside } = planLimits(prepared.groups, launched.launch_id, this.#limits);
    const record = group ? { ...launched, groups: group.folders } : launched;
    const { launcherOptions, folders } = launcherPlan(uid, folder.stage, {
      workspace: folder.workspace,
      outputs: folder.outputs,
      spill: folder.spill,
      ...trees,
      ...prepared.base,
    });
    return {
      group,
      handFolder: folder.path,
      record,
      perlPath: this.#options.perlPath ?? "/usr/bin/perl",
      launcher: join(this.#agentFolder, "launch.pl"),
      launcherOptions,
      bwrapPath: this.#options.bwrapPath ?? "/usr/bin/bwrap",
      bwrapArguments: bwrapArguments(folders, { hasExit, memoryBytes: inside.memoryBytes }),
      hasExit,
      seccompFilter: prepared.seccomp,
      command: agentCommand(inside, record.launch_id),
    };
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
      await endRecorded(record, END_EARLIER_MS);
      forgetRecord(handFolder, record);
    } catch (cause) {
      const message = "an earlier sandbox on this workspace is not proved gone";
      throw new SandboxUnavailableError(message, { cause });
    }
  }

  #prepare(): Prepared {
    const table = checkMachine(this.#mode);
    if (this.#prepared) return this.#prepared;
    mkdirSync(this.#handsFolder, { recursive: true, mode: 0o700 });
    chmodSync(this.#handsFolder, 0o700);
    const base = writeBase(this.#baseFolder, join(this.#agentFolder, "agent.pl"));
    const groups = ControlGroups.find(this.#handsFolder, this.#limits);
    this.#prepared = { base, groups, seccomp: seccompFilter(table) };
    return this.#prepared;
  }

  async #inTurn<T>(handId: string, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(handId) ?? Promise.resolve();
    const turn = before.then(work);
    const settled = turn.catch(() => undefined);
    this.#turns.set(handId, settled);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(handId) === settled) this.#turns.delete(handId);
    }
  }
}
