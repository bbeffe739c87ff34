import { join, resolve } from "node:path";
import type { Outfit } from "../../../core/ports/sandbox.ts";
import type { Controller } from "../cgroups/cgroup-layout.ts";
import { ControlGroups } from "../cgroups/control-groups.ts";
import { tryLaunch } from "../disk/launch-trial.ts";
import { SandboxDisks } from "../disk/sandbox-disks.ts";
import { type BaseFolders, writeBase } from "../local/base-files.ts";
import { handsFolderOf } from "../local/hand-folder.ts";
import { planLimits } from "../local/plan-limits.ts";
import { endRecorded, recordLaunch, type SandboxRecord } from "../local/process-record.ts";
import type { LaunchRequest, SandboxLauncher } from "../local/sandbox-launcher.ts";
import { agentCommand, type SandboxLimits } from "../local/sandbox-layout.ts";
import { seccompFilter } from "../seccomp/seccomp-filter.ts";
import { bwrapArguments, type ShownFolders } from "./bwrap-arguments.ts";
import { checkMachine } from "./check-machine.ts";
import { launcherPlan } from "./launcher-plan.ts";
import { type Launch, SandboxProcess } from "./sandbox-process.ts";

export interface BubblewrapLauncherOptions {
  /** Absolute: of the installation. */
  readonly dataFolder: string;
  /** `auto`: `root` for uid 0, which gives each hand its own kernel uid; else `rootless`. */
  readonly mode?: "auto" | "root" | "rootless";
  readonly bwrapPath?: string;
  readonly perlPath?: string;
  /** The folder of `agent.pl` and `launch.pl`; by default the one in the sources. */
  readonly agentFolder?: string;
  /** Tried out before there is a sandbox. */
  readonly limits?: Partial<SandboxLimits>;
}

/** What all sandboxes share, made once in a process. */
interface Prepared {
  readonly seccomp: Uint8Array;
  readonly workshopSeccomp: Uint8Array;
  readonly base: BaseFolders;
  readonly groups: ControlGroups;
}

/** Sandboxes by bubblewrap. To be used by the main thread. */
export class BubblewrapLauncher implements SandboxLauncher {
  readonly name = "bubblewrap";
  readonly mode: "root" | "rootless";
  readonly followsRenames = true;
  readonly #options: BubblewrapLauncherOptions;
  readonly #dataFolder: string;
  readonly #agentFolder: string;
  #prepared: Prepared | undefined;
  #disks: Promise<SandboxDisks> | undefined;

  constructor(options: BubblewrapLauncherOptions) {
    this.#options = options;
    const isRoot = process.getuid?.() === 0;
    this.mode =
      options.mode === "root" || (options.mode !== "rootless" && isRoot) ? "root" : "rootless";
    this.#dataFolder = resolve(options.dataFolder);
    this.#agentFolder = options.agentFolder ?? join(import.meta.dirname, "../../agent");
  }

  async prepare(): Promise<void> {
    this.#prepare();
    await this.disks();
  }

  disks(): Promise<SandboxDisks> {
    this.#disks ??= SandboxDisks.find({
      folder: join(this.#dataFolder, "sandbox-base"),
      diskBytes: this.#options.limits?.diskBytes,
      isRoot: this.mode === "root",
      tryMount: (disk, stage) =>
        tryLaunch({ perlPath: this.#perlPath, script: this.#launcher }, disk, stage),
    });
    return this.#disks;
  }

  can(controller: Controller): boolean {
    return this.#prepare().groups.can(controller);
  }

  launch(request: LaunchRequest, signal: AbortSignal): Promise<SandboxProcess> {
    return SandboxProcess.start(this.#plan(request), signal);
  }

  endRecorded(record: SandboxRecord, deadlineMs: number): Promise<void> {
    return endRecorded(record, deadlineMs);
  }

  get #perlPath(): string {
    return this.#options.perlPath ?? "/usr/bin/perl";
  }

  get #launcher(): string {
    return join(this.#agentFolder, "launch.pl");
  }

  #plan({ folder, trees, uid, hasExit, limits, disk, outfit, variables }: LaunchRequest): Launch {
    const prepared = this.#prepare();
    const launched = recordLaunch();
    const { group, inside } = planLimits(prepared.groups, launched.launch_id, limits);
    const record = group ? { ...launched, groups: group.folders } : launched;
    const shown = {
      workspace: folder.workspace,
      outputs: folder.outputs,
      spill: folder.spill,
      ...trees,
      ...prepared.base,
      ...shownOutfit(outfit),
    };
    const { launcherOptions, folders } = launcherPlan(shown, { uid, stage: folder.stage, disk });
    return {
      group,
      handFolder: folder.path,
      record,
      perlPath: this.#perlPath,
      launcher: this.#launcher,
      launcherOptions,
      bwrapPath: this.#options.bwrapPath ?? "/usr/bin/bwrap",
      bwrapArguments: bwrapArguments(folders, {
        ...{ hasExit, outfit, variables },
        memoryBytes: inside.memoryBytes,
      }),
      hasExit,
      seccompFilter:
        outfit?.workshop?.type === "root" ? prepared.workshopSeccomp : prepared.seccomp,
      command: agentCommand(inside, record.launch_id),
    };
  }

  #prepare(): Prepared {
    const table = checkMachine(this.mode);
    if (this.#prepared) return this.#prepared;
    const base = writeBase(
      join(this.#dataFolder, "sandbox-base"),
      join(this.#agentFolder, "agent.pl"),
    );
    const groups = ControlGroups.find(handsFolderOf(this.#dataFolder), { ...this.#options.limits });
    const workshopSeccomp = seccompFilter(table, { pretendsOwnership: true });
    this.#prepared = { base, groups, seccomp: seccompFilter(table), workshopSeccomp };
    return this.#prepared;
  }
}

function shownOutfit(outfit: Outfit | undefined): Pick<ShownFolders, "root" | "layers"> {
  if (outfit === undefined) return {};
  const { root, layers, workshop } = outfit;
  const open = workshop?.type === "layer" ? { [workshop.name]: workshop.folder } : {};
  return { ...(root !== undefined && { root }), layers: { ...layers, ...open } };
}
