import { SandboxUnavailableError } from "../../../core/ports/sandbox.ts";
import type { HandDisk, SandboxDisks } from "./sandbox-disks.ts";

/** Throws `SandboxUnavailableError` if there is a limit and nothing that would enforce it for this hand. */
export function requireDisk(
  { diskBytes }: { readonly diskBytes?: number },
  disk: HandDisk | undefined,
  disks: Pick<SandboxDisks, "refusal"> | undefined,
): void {
  if (diskBytes === undefined || disk !== undefined) return;
  const why = disks
    ? (disks.refusal ?? "its files were begun without one")
    : "sandboxes of this provider can have none";
  throw new SandboxUnavailableError(
    `the limit on the disk of a sandbox cannot be enforced here, and DROVER_SANDBOX_ENFORCE says that it is required: ${why}; set DROVER_SANDBOX_DISK_MB=0, or DROVER_SANDBOX_ENFORCE=where_possible`,
  );
}
