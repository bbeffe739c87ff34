import { installationId } from "../../protocol/hands-file.ts";
import { type InstallationWorld, openInstallation } from "../local/installation-world.ts";
import type { SandboxLimits } from "../local/sandbox-layout.ts";
import { DockerProvider } from "./docker-provider.ts";

/** An installation whose sandboxes are containers of the engine at the socket. */
export async function openDockerWorld(
  engine: { readonly socketPath: string },
  name: "docker" | "gvisor",
  limits: Partial<SandboxLimits> = {},
): Promise<InstallationWorld> {
  const world = await openInstallation(
    (options) =>
      new DockerProvider({
        ...options,
        name,
        socketPath: engine.socketPath,
        installation: () => installationId(options.dataFolder),
      }),
    limits,
  );
  return { ...world, isSlow: true };
}
