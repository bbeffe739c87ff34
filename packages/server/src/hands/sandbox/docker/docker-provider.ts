import { LocalProvider, type LocalProviderOptions } from "../local/local-provider.ts";
import { DockerLauncher, type DockerLauncherOptions } from "./docker-launcher.ts";

export type DockerProviderOptions = LocalProviderOptions & Omit<DockerLauncherOptions, "limits">;

/** Sandboxes of one Docker Engine alone. One per data folder. */
export class DockerProvider extends LocalProvider {
  constructor(options: DockerProviderOptions) {
    super(options, [new DockerLauncher({ ...options, limits: options.limits })]);
  }
}
