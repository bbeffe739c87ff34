import { z } from "zod";
import { SandboxUnavailableError } from "../../../core/ports/sandbox.ts";
import type { EngineClient } from "./engine-client.ts";

const Info = z.object({
  OSType: z.string(),
  Architecture: z.string().optional(),
  MemoryLimit: z.boolean().optional(),
  PidsLimit: z.boolean().optional(),
  CpuCfsQuota: z.boolean().optional(),
  SecurityOptions: z.array(z.string()).nullish(),
  Runtimes: z.record(z.string(), z.object({ runtimeArgs: z.array(z.string()).nullish() })),
});

/** What an engine can do, as it says. */
export interface EngineFacts {
  readonly canLimit: { readonly memory: boolean; readonly cpu: boolean; readonly pids: boolean };
  /** Whether the runtime leaves the network to the kernel, where a way out can be made. */
  readonly hasKernelNetwork: boolean;
}

/** Rejects with `SandboxUnavailableError` where it cannot make a sandbox with the runtime. */
export async function engineFacts(engine: EngineClient, runtime: string): Promise<EngineFacts> {
  const info = Info.parse(await engine.ask({ method: "GET", path: "/info" }));
  if (info.OSType !== "linux") {
    throw new SandboxUnavailableError(`the Docker Engine runs containers of ${info.OSType}`);
  }
  const options = info.SecurityOptions ?? [];
  if (!options.some((option) => option.startsWith("name=seccomp"))) {
    throw new SandboxUnavailableError("the Docker Engine has no seccomp, which sandboxes need");
  }
  if (options.some((option) => option.startsWith("name=rootless"))) {
    throw new SandboxUnavailableError(
      "the Docker Engine runs without root, where sandboxes have no users of their own: use one that runs as root, or bubblewrap, which needs none",
    );
  }
  const used = info.Runtimes[runtime];
  if (used === undefined) {
    const known = Object.keys(info.Runtimes).join(", ");
    throw new SandboxUnavailableError(
      `the Docker Engine has no runtime ${runtime} (DROVER_GVISOR_RUNTIME), only ${known}: add it to \`runtimes\` in daemon.json, see docs/sandboxes.md`,
    );
  }
  return {
    canLimit: {
      memory: info.MemoryLimit === true,
      cpu: info.CpuCfsQuota === true,
      pids: info.PidsLimit === true,
    },
    hasKernelNetwork: runtime === "runc" || (used.runtimeArgs ?? []).includes("--network=host"),
  };
}
