import { type EnvironmentConfig, packageManagers } from "@drover/api";
import type { NetworkSetting } from "../egress/sandbox-network.ts";
import { InvalidRequestError } from "../errors.ts";
import type { PackageSet, SandboxBase } from "../ports/hands.ts";
import type { ProviderName } from "../sandboxes/providers.ts";

interface PackageSource {
  readonly environment: EnvironmentConfig;
  /** `environment` unless given. */
  readonly setting: NetworkSetting | undefined;
  readonly base: SandboxBase;
  readonly provider: ProviderName;
  /** What the sandboxes of Docker and gVisor are made from, where the operator has chosen an image. */
  readonly dockerImage: string | undefined;
}

/**
 * What is installed for a new session, as its environment says now; undefined for nothing. Rejects, by the
 * field's name, what can never be installed with this server's settings.
 */
export function sessionPackages({
  environment,
  setting,
  base,
  provider,
  dockerImage,
}: PackageSource): PackageSet | undefined {
  if (environment.type !== "cloud") return undefined;
  const { packages } = environment;
  const named = packageManagers.filter((manager) => packages[manager].length > 0);
  const [first] = named;
  if (first === undefined) return undefined;
  if (setting === "none") {
    throw new InvalidRequestError(
      `environment.config.packages.${first}: nothing can be installed where sandboxes have no network (DROVER_SANDBOX_NETWORK)`,
    );
  }
  if (base.type === "host" && packages.apt.length > 0) {
    throw new InvalidRequestError(
      "environment.config.packages.apt: the programs of this server's machine cannot be added to; set DROVER_SANDBOX_BASE to a base made by `drover base build`",
    );
  }
  if (base.type === "host" && provider !== "bubblewrap" && dockerImage !== undefined) {
    throw new InvalidRequestError(
      `environment.config.packages.${first}: nothing can be added to the image of DROVER_DOCKER_IMAGE, which sandboxes of ${provider} are made from; put it there, or set DROVER_SANDBOX_BASE to a base made by \`drover base build\``,
    );
  }
  return Object.fromEntries(
    named.map((manager) => [manager, [...new Set(packages[manager])].sort()]),
  );
}
