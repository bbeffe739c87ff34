import { unreachable } from "../errors.ts";
import type { SandboxNetwork } from "../ports/hands.ts";
import type { Host } from "./host.ts";

/** What the session's own policy says; where the host then is, the guard of addresses judges as well. */
export type HostVerdict =
  | { readonly type: "permitted" }
  | { readonly type: "refused"; readonly reason: string };

const PERMITTED: HostVerdict = { type: "permitted" };

/** Pure: whether a sandbox may speak to the host at all. */
export function judgeHost(network: SandboxNetwork, host: Host): HostVerdict {
  switch (network.type) {
    case "none":
      return refused("the session has no network");
    case "unrestricted":
      return PERMITTED;
    case "limited":
      return network.hosts.some((pattern) => matchesHost(pattern, host))
        ? PERMITTED
        : refused("not among the allowed hosts of the environment");
    default:
      return unreachable(network);
  }
}

/** The same for the client of one of the agent's MCP servers, at its host. */
export function judgeMcpHost(network: SandboxNetwork, host: Host): HostVerdict {
  const isAllowed = network.type === "limited" && network.mcp_servers === true;
  return isAllowed ? PERMITTED : judgeHost(network, host);
}

/** `*.example.com` is every name below `example.com`, at any depth, and not that name itself. */
export function matchesHost(pattern: string, host: Host): boolean {
  const wanted = pattern.toLowerCase().replace(/\.$/, "");
  if (!wanted.startsWith("*.")) return host.text === wanted;
  return host.type === "name" && host.text.endsWith(wanted.slice(1));
}

function refused(reason: string): HostVerdict {
  return { type: "refused", reason };
}
