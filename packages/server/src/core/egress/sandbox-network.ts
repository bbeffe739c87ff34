import type { EnvironmentConfig } from "@drover/api";
import type { SandboxNetwork } from "../ports/hands.ts";
import { readHost } from "./host.ts";
import { PACKAGE_REGISTRIES } from "./package-registries.ts";

/** Whether sandboxes have the network that their environment says, or the operator gives them none. */
export type NetworkSetting = "environment" | "none";

interface NetworkSource {
  /** `environment` unless given. */
  readonly setting: NetworkSetting | undefined;
  readonly environment: EnvironmentConfig;
  readonly mcpServers: readonly { readonly url: string }[];
}

/**
 * What network a new session's sandbox has: its environment's `networking` as it is now, with all that it
 * allows by name. Fixed with the session: later changes are for later sessions.
 */
export function sandboxNetwork({
  setting,
  environment,
  mcpServers,
}: NetworkSource): SandboxNetwork {
  if (setting === "none" || environment.type !== "cloud") return { type: "none" };
  const { networking } = environment;
  if (networking.type === "unrestricted") return { type: "unrestricted" };
  const { allowed_hosts, allow_mcp_servers, allow_package_managers } = networking;
  const hosts = [
    ...allowed_hosts.map((host) => host.toLowerCase()),
    ...(allow_mcp_servers ? mcpServers.flatMap(({ url }) => hostOf(url)) : []),
    ...(allow_package_managers ? PACKAGE_REGISTRIES : []),
  ];
  return {
    ...{ type: "limited", hosts: [...new Set(hosts)] },
    ...(allow_mcp_servers && { mcp_servers: true }),
  };
}

function hostOf(url: string): string[] {
  const host = URL.canParse(url) ? readHost(new URL(url).hostname) : undefined;
  return host === undefined ? [] : [host.text];
}
