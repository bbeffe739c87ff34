import { rmdirSync } from "node:fs";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** Before the rest of a group's name, so that nothing else is ever removed. */
export const GROUP_PREFIX = "drover-";
const POLL_MS_MAX = 20;

/**
 * Removes the groups of a sandbox whose processes have been ended. Only an empty group can be removed, so
 * this also proves that nothing of it is left. Rejects when that is not so in time.
 */
export async function removeGroups(folders: readonly string[], deadlineMs: number): Promise<void> {
  const giveUpAt = performance.now() + deadlineMs;
  for (const folder of folders) {
    if (!basename(folder).startsWith(GROUP_PREFIX)) {
      throw new Error(`${folder} is not a control group of a sandbox`);
    }
    for (let pauseMs = 1; !remove(folder); pauseMs = Math.min(pauseMs * 2, POLL_MS_MAX)) {
      if (performance.now() > giveUpAt) throw new Error(`control group ${folder} is not empty`);
      await sleep(pauseMs);
    }
  }
}

/** False if there are still processes in it. */
function remove(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT") return true;
    if (code === "EBUSY") return false;
    throw error;
  }
}
