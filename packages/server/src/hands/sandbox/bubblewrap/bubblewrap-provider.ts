import { LocalProvider, type LocalProviderOptions } from "../local/local-provider.ts";
import { BubblewrapLauncher, type BubblewrapLauncherOptions } from "./bubblewrap-launcher.ts";

export type BubblewrapProviderOptions = LocalProviderOptions & BubblewrapLauncherOptions;

/** Sandboxes by bubblewrap alone. To be used by the main thread of one process per data folder. */
export class BubblewrapProvider extends LocalProvider {
  constructor(options: BubblewrapProviderOptions) {
    super(options, [new BubblewrapLauncher(options)]);
  }
}
