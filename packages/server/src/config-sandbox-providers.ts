import type { z } from "zod";
import type { Settings } from "./config-settings.ts";
import type { ServerProviders } from "./core/sandboxes/chosen-provider.ts";

/** Who makes sandboxes, and where they are to be found. */
export interface SandboxProviderSettings {
  readonly names: ServerProviders;
  /** Of the Docker Engine. */
  readonly dockerSocket: string;
  /** Absent for the host's programs. */
  readonly dockerImage?: string;
  /** What the engine calls gVisor. */
  readonly gvisorRuntime: string;
}

export function sandboxProviders(settings: z.output<typeof Settings>): SandboxProviderSettings {
  const { DROVER_DOCKER_IMAGE: image } = settings;
  return {
    names: settings.DROVER_SANDBOX_PROVIDER,
    dockerSocket: settings.DROVER_DOCKER_SOCKET,
    ...(image !== undefined && { dockerImage: image }),
    gvisorRuntime: settings.DROVER_GVISOR_RUNTIME,
  };
}

/** The settings as the environment has them, for a process that is to have the same. */
export function sandboxProviderVariables(
  providers: SandboxProviderSettings,
): Record<string, string> {
  const { names, dockerSocket, dockerImage, gvisorRuntime } = providers;
  return {
    DROVER_SANDBOX_PROVIDER: names.join(","),
    DROVER_DOCKER_SOCKET: dockerSocket,
    ...(dockerImage !== undefined && { DROVER_DOCKER_IMAGE: dockerImage }),
    DROVER_GVISOR_RUNTIME: gvisorRuntime,
  };
}
