import type { LimitFact, SandboxFacts } from "../../../core/sandboxes/facts.ts";
import type { HandDisk } from "../disk/sandbox-disks.ts";
import type { SandboxLauncher } from "./sandbox-launcher.ts";
import type { SandboxLimits } from "./sandbox-layout.ts";

interface Made {
  readonly launcher: Pick<SandboxLauncher, "name" | "mode" | "can">;
  readonly limits: SandboxLimits;
  /** Its own, if it has one. */
  readonly disk: HandDisk | undefined;
}

/** What is to be told of a sandbox once. */
export function sandboxFacts({ launcher, limits, disk }: Made): SandboxFacts {
  const { memoryBytes, cpus, processes, openFiles, fileBytes } = limits;
  const always = (limit: number): LimitFact => ({ limit, enforced: true });
  return {
    provider: launcher.name,
    mode: launcher.mode,
    limits: {
      memory_bytes: factOf(memoryBytes, launcher.can("memory")),
      cpus: factOf(cpus, launcher.can("cpu")),
      // Where no group counts them, every process carries the limit itself.
      processes: always(processes),
      open_files: always(openFiles),
      file_bytes: always(fileBytes),
      // A disk keeps the size that it was made with, whatever the limit is now.
      disk_bytes: factOf(disk?.bytes ?? limits.diskBytes, disk !== undefined),
    },
  };
}

function factOf(limit: number | undefined, enforced: boolean): LimitFact | null {
  return limit === undefined ? null : { limit, enforced };
}
