import { existsSync } from "node:fs";
import { SandboxUnavailableError } from "../../../core/ports/sandbox.ts";
import { diskFolders } from "../disk/disk-folders.ts";
import { diskOptions, type HandDisk } from "../disk/sandbox-disks.ts";
import type { ShownFolders } from "./bwrap-arguments.ts";

/** A folder that exists on every system and that nothing of a sandbox comes from. */
const COVERABLE = ["/mnt", "/srv", "/media", "/opt"];

const LAYER_PREFIX = "layer-";

export interface LauncherPlan {
  /** Options of `launch.pl`. */
  readonly launcherOptions: readonly string[];
  /** Where bubblewrap finds the folders. */
  readonly folders: ShownFolders;
}

interface Shower {
  readonly uid: number | undefined;
  /** Of the hand's folder. */
  readonly stage: string;
  /** What the folders are in that can be written, if they are in one; then there is a uid. */
  readonly disk: HandDisk | undefined;
}

/**
 * With a uid, the folders are bound to a place that this uid can reach: the data folder may be below
 * one that it cannot, such as /root. Without, they are used where they are.
 */
export function launcherPlan(folders: ShownFolders, { uid, stage, disk }: Shower): LauncherPlan {
  if (uid === undefined) return { launcherOptions: [], folders };
  const cover = COVERABLE.find((folder) => existsSync(folder));
  if (cover === undefined) throw new SandboxUnavailableError("there is no folder /mnt");
  const { layers = {}, memory = [], ...named } = folders;
  const onDisk: ReadonlySet<string> = new Set(disk && diskFolders(memory));
  const places = [
    ...Object.entries(named),
    ...memory.map(({ name, folder }) => [name, folder] as const),
    ...Object.entries(layers).map(([name, path]) => [`${LAYER_PREFIX}${name}`, path] as const),
  ].filter(([name]) => !onDisk.has(name));
  const binds = places.flatMap(([name, path]) => ["--bind", `${name}=${path}`]);
  const disks = disk ? diskOptions(disk, [...onDisk]) : [];
  const at = (name: string) => (onDisk.has(name) ? `${cover}/disk/${name}` : `${cover}/${name}`);
  const covered = Object.keys(named).map((name) => [name, at(name)]);
  return {
    launcherOptions: ["--uid", String(uid), "--stage", stage, "--cover", cover, ...binds, ...disks],
    folders: {
      ...(Object.fromEntries(covered) as typeof named),
      memory: memory.map((each) => ({ ...each, folder: at(each.name) })),
      layers: Object.fromEntries(
        Object.keys(layers).map((name) => [name, `${cover}/${LAYER_PREFIX}${name}`]),
      ),
    },
  };
}
