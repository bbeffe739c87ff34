import {
  type Environment,
  type EnvironmentConfigParams,
  type EnvironmentCreateParams,
  EnvironmentDefinition,
  type EnvironmentUpdateParams,
  packageManagers,
} from "@drover/api";
import { newEnvironment, updatedEnvironment } from "../../core/environments/definition.ts";

export interface EnvironmentRequest {
  readonly create: EnvironmentCreateParams;
  /** Undefined for an environment that is to be made. */
  readonly update: EnvironmentUpdateParams | undefined;
  /** What the environment is then. */
  readonly result: EnvironmentDefinition;
}

/** What is to be sent so that the environment is what its file says. Throws what the API throws. */
export function environmentRequest(
  params: EnvironmentCreateParams,
  existing: Environment | undefined,
): EnvironmentRequest {
  // An empty value deletes its key in an update, so that it can never be there to stay.
  const metadata = Object.fromEntries(
    Object.entries(params.metadata ?? {}).filter(([, value]) => value !== ""),
  );
  const create = { ...params, metadata };
  if (existing === undefined) return { create, update: undefined, result: newEnvironment(create) };
  const gone = Object.keys(existing.metadata).filter((key) => !Object.hasOwn(metadata, key));
  const update: EnvironmentUpdateParams = {
    config: wholeConfig(params.config),
    description: params.description ?? null,
    metadata: { ...metadata, ...Object.fromEntries(gone.map((key) => [key, null])) },
    ...(params.scope === undefined ? {} : { scope: params.scope }),
  };
  const result = updatedEnvironment(EnvironmentDefinition.parse(existing), update);
  return { create, update, result };
}

/** With every default, which an update would not fill in. */
function wholeConfig(config: EnvironmentConfigParams | null | undefined): EnvironmentConfigParams {
  if (config?.type === "self_hosted") return config;
  const { networking, packages } = config ?? {};
  return {
    type: "cloud",
    networking:
      networking?.type === "limited"
        ? {
            type: "limited",
            allowed_hosts: networking.allowed_hosts ?? [],
            allow_mcp_servers: networking.allow_mcp_servers ?? false,
            allow_package_managers: networking.allow_package_managers ?? false,
          }
        : { type: "unrestricted" },
    packages: Object.fromEntries(
      packageManagers.map((manager) => [manager, packages?.[manager] ?? []]),
    ),
  };
}
