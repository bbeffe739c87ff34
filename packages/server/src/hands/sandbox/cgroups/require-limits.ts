import { SandboxUnavailableError } from "../../../core/ports/sandbox.ts";
import type { Controller } from "./cgroup-layout.ts";
import type { GroupLimits } from "./sandbox-group.ts";

/** Throws `SandboxUnavailableError`, which names the limit, if one of them cannot be enforced. */
export function requireLimits(
  groups: { can(controller: Controller): boolean },
  { memoryBytes, cpus }: GroupLimits,
): void {
  // Processes and open files are limited by what every process carries, wherever that is.
  const open = [
    ...(memoryBytes !== undefined && !groups.can("memory") ? ["memory"] : []),
    ...(cpus !== undefined && !groups.can("cpu") ? ["processors"] : []),
  ];
  if (open.length === 0) return;
  throw new SandboxUnavailableError(
    `the limit on the ${open.join(" and the ")} of a sandbox cannot be enforced here, and DROVER_SANDBOX_ENFORCE says that it is required: run the server as root, or in a control group that is delegated to it (systemd: \`Delegate=yes\` and \`DelegateSubgroup=server\`), or set DROVER_SANDBOX_ENFORCE=where_possible`,
  );
}
