import {
  type CloudConfig,
  type EnvironmentConfig,
  type EnvironmentConfigParams,
  type EnvironmentCreateParams,
  type EnvironmentDefinition,
  type EnvironmentUpdateParams,
  type Networking,
  type NetworkingParams,
  type Packages,
  type PackagesParams,
  packageManagers,
} from "@drover/api";
import { InvalidRequestError } from "../errors.ts";
import { patchedMetadata } from "../metadata.ts";

type CloudParams = Extract<EnvironmentConfigParams, { type: "cloud" }>;

const NO_PACKAGES: Packages = {
  type: "packages",
  apt: [],
  cargo: [],
  gem: [],
  go: [],
  npm: [],
  pip: [],
};
const CLOUD: CloudConfig = {
  type: "cloud",
  networking: { type: "unrestricted" },
  packages: NO_PACKAGES,
};

/** A new environment's definition, defaults filled in. Rejects contradictions by name. */
export function newEnvironment(params: EnvironmentCreateParams): EnvironmentDefinition {
  assertScope(params.scope);
  const config = params.config ?? { type: "cloud" };
  return {
    config: config.type === "self_hosted" ? config : checked(resolvedConfig(CLOUD, config)),
    description: params.description ?? null,
    metadata: params.metadata ?? {},
    scope: "organization",
  };
}

/**
 * The definition after an update (wire §4.3): what is left out is kept on every level of `config`, and
 * `config.type` never changes. Unlike an agent's, an empty description is stored as such, and an empty
 * metadata value deletes its key.
 */
export function updatedEnvironment(
  current: EnvironmentDefinition,
  params: EnvironmentUpdateParams,
): EnvironmentDefinition {
  assertScope(params.scope);
  return {
    config: updatedConfig(current.config, params.config),
    description: params.description === undefined ? current.description : params.description,
    metadata: patchedMetadata(current.metadata, params.metadata, { emptyDeletes: true }),
    scope: current.scope,
  };
}

function updatedConfig(
  current: EnvironmentConfig,
  sent: EnvironmentConfigParams | null | undefined,
): EnvironmentConfig {
  if (sent === null || sent === undefined) return current;
  if (current.type !== sent.type) {
    throw new InvalidRequestError(
      `config.type: an environment of type ${current.type} cannot become ${sent.type}`,
      { code: "invalid_config_type_change" },
    );
  }
  if (current.type === "self_hosted" || sent.type === "self_hosted") return current;
  return checked(resolvedConfig(current, sent));
}

function resolvedConfig(current: CloudConfig, sent: CloudParams): CloudConfig {
  return {
    type: "cloud",
    networking: resolvedNetworking(current.networking, sent.networking),
    packages: resolvedPackages(current.packages, sent.packages),
  };
}

function resolvedNetworking(
  current: Networking,
  sent: NetworkingParams | null | undefined,
): Networking {
  if (sent === null || sent === undefined) return current;
  if (sent.type === "unrestricted") return { type: "unrestricted" };
  const before = current.type === "limited" ? current : undefined;
  return {
    type: "limited",
    allowed_hosts: sent.allowed_hosts ?? before?.allowed_hosts ?? [],
    allow_mcp_servers: sent.allow_mcp_servers ?? before?.allow_mcp_servers ?? false,
    allow_package_managers: sent.allow_package_managers ?? before?.allow_package_managers ?? false,
  };
}

function resolvedPackages(current: Packages, sent: PackagesParams | null | undefined): Packages {
  const packages = { ...current };
  for (const manager of packageManagers) {
    packages[manager] = sent?.[manager] ?? current[manager];
  }
  return packages;
}

function checked(config: CloudConfig): CloudConfig {
  const { networking, packages } = config;
  const hasPackages = packageManagers.some((manager) => packages[manager].length > 0);
  if (hasPackages && networking.type === "limited" && !networking.allow_package_managers) {
    throw new InvalidRequestError(
      "config.packages: limited networking needs allow_package_managers to install packages",
    );
  }
  return config;
}

function assertScope(scope: "organization" | "account" | null | undefined): void {
  if (scope === "account") {
    throw new InvalidRequestError("scope: only organization is supported");
  }
}
