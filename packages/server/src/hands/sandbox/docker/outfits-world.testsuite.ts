import { openPackagesWorld, type PackagesWorld } from "../../packages/packages-world.testsuite.ts";
import { installationId } from "../../protocol/hands-file.ts";
import { BubblewrapLauncher } from "../bubblewrap/bubblewrap-launcher.ts";
import { LocalProvider } from "../local/local-provider.ts";
import { DockerLauncher } from "./docker-launcher.ts";

/** An installation whose sandboxes are containers, with packages that bubblewrap installs. */
export function openDockerOutfits(
  { socketPath }: { readonly socketPath: string },
  name: "docker" | "gvisor",
): Promise<PackagesWorld> {
  return openPackagesWorld({
    provide(options) {
      const { dataFolder } = options;
      const installation = () => installationId(dataFolder);
      const own = { dataFolder, limits: options.limits };
      return new LocalProvider(
        options,
        [new DockerLauncher({ ...own, name, socketPath, installation })],
        [new BubblewrapLauncher({ dataFolder })],
      );
    },
  });
}
