import { installationId } from "../../protocol/hands-file.ts";
import { type InstallationWorld, openInstallation } from "../local/installation-world.ts";
import type { LocalProvider, LocalProviderOptions } from "../local/local-provider.ts";
import type { SandboxLimits } from "../local/sandbox-layout.ts";
import { DockerProvider } from "./docker-provider.ts";

/** Providers whose sandboxes are containers of the engine at the socket. */
export function dockerProvider(
  { socketPath }: { readonly socketPath: string },
  name: "docker" | "gvisor",
): (options: LocalProviderOptions) => LocalProvider {
  return (options) =>
    new DockerProvider({
      ...options,
      ...{ name, socketPath },
      installation: () => installationId(options.dataFolder),
    });
}

export async function openDockerWorld(
  engine: { readonly socketPath: string },
  name: "docker" | "gvisor",
  limits: Partial<SandboxLimits> = {},
): Promise<InstallationWorld> {
  return { ...(await openInstallation(dockerProvider(engine, name), limits)), isSlow: true };
}
