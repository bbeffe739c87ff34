import { diskFolders } from "../disk/disk-folders.ts";
import { SandboxDisks } from "../disk/sandbox-disks.ts";
import type { LaunchRequest } from "../local/sandbox-launcher.ts";
import type { ContainerDisk } from "./docker-sandbox.ts";
import { clearStage, type EngineMounts, withDisk } from "./engine-disk.ts";
import { type TriedEngine, tryDisk } from "./try-disk.ts";

export interface EngineDisksOptions {
  /** For the template and the trial. Absolute. */
  readonly folder: string;
  /** Absent for no limit. */
  readonly diskBytes: number | undefined;
  readonly isRoot: boolean;
  readonly mounts: EngineMounts;
  /** What a container is made of, for the trial. */
  readonly tried: () => Promise<Omit<TriedEngine, "mounts">>;
}

/** File systems of their own for the sandboxes of one Docker Engine. */
export class EngineDisks {
  readonly #options: EngineDisksOptions;
  #found: Promise<SandboxDisks> | undefined;

  constructor(options: EngineDisksOptions) {
    this.#options = options;
  }

  /** See `SandboxLauncher.disks`. */
  find(): Promise<SandboxDisks> {
    const { mounts, tried, ...options } = this.#options;
    this.#found ??= SandboxDisks.find({
      ...options,
      tryMount: async (disk, stage) => tryDisk({ ...(await tried()), mounts }, disk, stage),
    });
    return this.#found;
  }

  of({ disk, uid, trees, folder: { stage } }: LaunchRequest): ContainerDisk | undefined {
    const { mounts } = this.#options;
    if (disk === undefined || uid === undefined) return undefined;
    const folders = diskFolders(trees.memory);
    return {
      showing: (use) => withDisk(mounts, { disk, folders, stage, uid }, use),
      clear: () => clearStage(mounts, stage),
    };
  }

  /** Unmounts what an earlier process may have left there. */
  clear(stage: string): Promise<void> {
    return clearStage(this.#options.mounts, stage);
  }
}
