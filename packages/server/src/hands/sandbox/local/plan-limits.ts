import type { ControlGroups } from "../cgroups/control-groups.ts";
import type { SandboxGroup } from "../cgroups/sandbox-group.ts";
import type { SandboxLimits } from "./sandbox-layout.ts";

/**
 * The limit that every process carries itself is so much higher where the group counts too: the group is
 * what tells that it was met, so it must be met first.
 */
export const UNCOUNTED_PROCESSES = 16;

export interface LimitsPlan {
  /** Not made yet; undefined where this machine can enforce none of the limits by one. */
  readonly group: SandboxGroup | undefined;
  /** What the inside is told. */
  readonly inside: SandboxLimits;
}

export function planLimits(
  groups: ControlGroups,
  launchId: string,
  limits: SandboxLimits,
): LimitsPlan {
  const { memoryBytes, processes, ...others } = limits;
  return {
    group: groups.plan(launchId, limits),
    inside: {
      ...others,
      processes: groups.can("pids") ? processes + UNCOUNTED_PROCESSES : processes,
      // Where it is not enforced, what is kept in memory is not made smaller for it either.
      ...(groups.can("memory") && memoryBytes !== undefined && { memoryBytes }),
    },
  };
}
