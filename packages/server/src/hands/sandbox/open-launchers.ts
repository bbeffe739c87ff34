import type { SandboxProviderSettings } from "../../config-sandbox-providers.ts";
import { PROVIDER_NAMES, type ProviderName } from "../../core/sandboxes/providers.ts";
import {
  BubblewrapLauncher,
  type BubblewrapLauncherOptions,
} from "./bubblewrap/bubblewrap-launcher.ts";
import { DockerLauncher, type DockerLauncherOptions } from "./docker/docker-launcher.ts";
import type { SandboxLauncher } from "./local/sandbox-launcher.ts";

export interface LauncherOptions
  extends BubblewrapLauncherOptions,
    Pick<DockerLauncherOptions, "installation"> {
  readonly providers: SandboxProviderSettings;
}

export interface Launchers {
  /** Of the providers that the operator chose, in their order. */
  readonly chosen: readonly [SandboxLauncher, ...SandboxLauncher[]];
  /** Of the others, which may have made sandboxes before the operator chose anew. */
  readonly retired: readonly SandboxLauncher[];
}

export function openLaunchers(options: LauncherOptions): Launchers {
  const { names } = options.providers;
  const [first, ...others] = names;
  return {
    chosen: [open(first, options), ...others.map((name) => open(name, options))],
    retired: PROVIDER_NAMES.filter((name) => !names.includes(name)).map((name) =>
      open(name, options),
    ),
  };
}

function open(name: ProviderName, options: LauncherOptions): SandboxLauncher {
  if (name === "bubblewrap") return new BubblewrapLauncher(options);
  const { dataFolder, installation, limits, providers } = options;
  const { dockerSocket, dockerImage, gvisorRuntime } = providers;
  return new DockerLauncher({
    ...{ dataFolder, installation, limits, name },
    socketPath: dockerSocket,
    runtime: gvisorRuntime,
    ...(dockerImage !== undefined && { image: dockerImage }),
  });
}
