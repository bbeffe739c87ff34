import type { Readable, Writable } from "node:stream";
import type { Recipe } from "../../../core/ports/hands.ts";
import type { Outfit } from "../../../core/ports/sandbox.ts";
import type { LimitHit } from "../../../core/sandboxes/limits.ts";
import type { ProviderName } from "../../../core/sandboxes/providers.ts";
import type { ExitListeners } from "../../egress/sandbox-exit.ts";
import type { MemoryFolder } from "../../memory/copy-folder.ts";
import type { Controller } from "../cgroups/cgroup-layout.ts";
import type { HandDisk, SandboxDisks } from "../disk/sandbox-disks.ts";
import type { HandFolder } from "./hand-folder.ts";
import type { LaunchRecord, ProcessRecord, SandboxRecord } from "./process-record.ts";
import type { SandboxLimits } from "./sandbox-layout.ts";

/** Folders of the host that hold what is mounted into a sandbox, shown read-only but for some memory. */
export interface MountTrees {
  readonly uploads: string;
  /** Absent where there are none. */
  readonly skills?: string;
  /** Memory stores; sandboxes may write those that say so. */
  readonly memory?: readonly MemoryFolder[];
  /** What its programs trust; absent where that is what the machine does. */
  readonly trust?: string;
}

export interface LaunchRequest {
  readonly handId: string;
  readonly recipe: Recipe;
  /** See `ProvisionRequest`. */
  readonly outfit?: Outfit | undefined;
  /** Made, and its writable folders owned by the sandbox's user. */
  readonly folder: HandFolder;
  readonly trees: MountTrees;
  /** Of the environment; those that every sandbox has go before. */
  readonly variables: Readonly<Record<string, string>>;
  /** The kernel uid of this hand alone; undefined where sandboxes have this process's own. */
  readonly uid: number | undefined;
  /** Whether it gets a network of which this process serves the only way out. */
  readonly hasExit: boolean;
  readonly limits: SandboxLimits;
  /** What its writable folders are in, if the launcher has such disks and the hand has one. */
  readonly disk: HandDisk | undefined;
}

/** A sandbox whose agent has been started and not yet been asked for anything. */
export interface LaunchedSandbox {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** What a later process needs to end it. */
  readonly record: LaunchRecord | ProcessRecord;
  /** Resolves with the reason when it has ended; processes of it may be ending still. Never rejects. */
  readonly exited: Promise<string>;
  /** To be served at once and closed when it has exited; undefined without a way out. */
  readonly listeners: ExitListeners | undefined;
  /** Kills everything inside; resolves when it is gone. Rejects if it does not go. */
  end(): Promise<void>;
  /** The limits that were met since this was asked the last time. */
  takeLimitHits(): readonly LimitHit[];
}

/** How sandboxes of one provider are started on this machine. What they are made of is not its business. */
export interface SandboxLauncher {
  readonly name: ProviderName;
  /** `root`: each hand has a kernel uid of its own. Known once it is prepared. */
  readonly mode: "root" | "rootless";
  /** Whether what a sandbox is shown of a hand's folder stays shown where it gets another name. */
  readonly followsRenames: boolean;
  /** To be called before all else, any number of times. Rejects with `SandboxUnavailableError`. */
  prepare(): Promise<void>;
  /** Whether it can limit the use of it here, for all processes of a sandbox together. */
  can(controller: Controller): boolean;
  /** File systems of their own for hands; absent for a launcher that cannot show them. Never rejects. */
  disks?(): Promise<SandboxDisks>;
  /**
   * Starts one. From before there is anything of it, the hand's folder has a record of it. Rejects with
   * `SandboxUnavailableError`, also on abort, with nothing left behind; where that cannot be proved, the
   * record stays.
   */
  launch(request: LaunchRequest, signal: AbortSignal): Promise<LaunchedSandbox>;
  /**
   * Ends what is left of a sandbox that an earlier process launched, however far it had come, and resolves
   * when it is gone. Rejects when that cannot be reached in time.
   */
  endRecorded(record: SandboxRecord, deadlineMs: number): Promise<void>;
  /**
   * Ends all that earlier processes of this installation left and that no record of a hand names. Never
   * touches what this process launched, or another installation's.
   */
  reap?(): Promise<void>;
}
