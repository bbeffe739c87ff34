import { LocalProvider, type LocalProviderOptions } from "../local/local-provider.ts";
import { DockerLauncher, type DockerLauncherOptions } from "./docker-launcher.ts";

export type DockerProviderOptions = LocalProviderOptions & DockerLauncherOptions;

/** Sandboxes of one Docker Engine alone. One per data folder. */
export class DockerProvider extends LocalProvider {
  constructor(options: DockerProviderOptions) {
    super(options, [new DockerLauncher(options)]);
  }
}
