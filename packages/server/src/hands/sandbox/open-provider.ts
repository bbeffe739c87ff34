import type { Config } from "../../config.ts";
import { openGuard } from "../../egress/open-egress.ts";
import { installationId } from "../protocol/hands-file.ts";
import { LocalProvider, type LocalProviderOptions } from "./local/local-provider.ts";
import { openLaunchers } from "./open-launchers.ts";

type Given = Omit<LocalProviderOptions, "limits" | "enforce" | "egress">;

/** What makes sandboxes as the operator has set it. */
export function openProvider(config: Config, given: Given): LocalProvider {
  const { sandboxLimits: limits, sandboxProviders: providers, bwrapPath } = config;
  const { dataFolder } = given;
  const { chosen, retired } = openLaunchers({
    ...{ dataFolder, limits, providers },
    installation: () => installationId(dataFolder),
    ...(bwrapPath !== undefined && { bwrapPath }),
  });
  const egress = { guard: openGuard(config.egressAllow) };
  return new LocalProvider(
    {
      ...given,
      ...{ limits, enforce: limits.enforce },
      ...(config.sandboxNetwork !== "none" && { egress }),
    },
    chosen,
    retired,
  );
}
