import { existsSync } from "node:fs";
import { SandboxUnavailableError } from "../../../core/ports/sandbox.ts";
import type { ShownFolders } from "./bwrap-arguments.ts";

/** A folder that exists on every system and that nothing of a sandbox comes from. */
const COVERABLE = ["/mnt", "/srv", "/media", "/opt"];

export interface LauncherPlan {
  /** Options of `launch.pl`. */
  readonly launcherOptions: readonly string[];
  /** Where bubblewrap finds the folders. */
  readonly folders: ShownFolders;
}

/**
 * With a uid, the folders are bound to a place that this uid can reach: the data folder may be below
 * one that it cannot, such as /root. Without, they are used where they are.
 */
export function launcherPlan(
  uid: number | undefined,
  stage: string,
  folders: ShownFolders,
): LauncherPlan {
  if (uid === undefined) return { launcherOptions: [], folders };
  const cover = COVERABLE.find((folder) => existsSync(folder));
  if (cover === undefined) throw new SandboxUnavailableError("there is no folder /mnt");
  const binds = Object.entries(folders).flatMap(([name, path]) => ["--bind", `${name}=${path}`]);
  return {
    launcherOptions: ["--uid", String(uid), "--stage", stage, "--cover", cover, ...binds],
    folders: {
      workspace: `${cover}/workspace`,
      outputs: `${cover}/outputs`,
      spill: `${cover}/spill`,
      uploads: `${cover}/uploads`,
      ...(folders.skills !== undefined && { skills: `${cover}/skills` }),
      etc: `${cover}/etc`,
      agent: `${cover}/agent`,
    },
  };
}
