import { readFileSync } from "node:fs";
import { CONTROLLERS, type Controller, cgroupLayout } from "../cgroups/cgroup-layout.ts";
import { type GroupLimits, type GroupPart, SandboxGroup } from "../cgroups/sandbox-group.ts";

/**
 * The control groups that the engine has put a process into, to be looked at: they tell which limits were
 * met. Undefined where they cannot be seen.
 */
export function containerGroup(pid: number, limits: GroupLimits): SandboxGroup | undefined {
  try {
    const membership = readFileSync(`/proc/${pid}/cgroup`, "utf8");
    const { v1, v2 } = cgroupLayout(membership, readFileSync("/proc/self/mountinfo", "utf8"));
    const parts = new Map<string, GroupPart>();
    for (const controller of CONTROLLERS) {
      const folder = v1[controller] ?? v2?.own;
      if (folder === undefined) continue;
      const version = v1[controller] === undefined ? 2 : 1;
      const controllers: Controller[] = [...(parts.get(folder)?.controllers ?? []), controller];
      parts.set(folder, { version, folder, controllers });
    }
    return parts.size === 0 ? undefined : new SandboxGroup([...parts.values()], limits);
  } catch (error) {
    // It has ended meanwhile, which whoever speaks to it will notice.
    if (error instanceof Error && "code" in error && isGone(error.code)) return undefined;
    throw error;
  }
}

function isGone(code: unknown): boolean {
  return code === "ENOENT" || code === "ESRCH";
}
