import type { SessionErrorObject } from "@drover/api";
import { readHost } from "../egress/host.ts";
import { judgeHost } from "../egress/policy.ts";
import type { SandboxNetwork } from "../ports/hands.ts";
import type { SessionCredential } from "./session-credentials.ts";

/** Hosts that are named in one error; of more their number is told. */
const NAMED_MAX = 16;

/** The errors that a session's log shows for credentials whose hosts its sandbox may not speak to. It goes on. */
export function unreachableHosts(
  credentials: readonly SessionCredential[],
  network: SandboxNetwork,
): readonly SessionErrorObject[] {
  return credentials.flatMap(({ record, auth }) => {
    if (auth.type !== "environment_variable" || auth.networking.type !== "limited") return [];
    const hosts = auth.networking.allowed_hosts.filter((host) => !isReachable(network, host));
    if (hosts.length === 0) return [];
    return [
      {
        type: "credential_host_unreachable_error" as const,
        credential_id: record.id,
        vault_id: record.vault_id,
        message:
          `${auth.secret_name} is for ${hosts.slice(0, NAMED_MAX).join(", ")}, ` +
          "which the environment's network does not permit: there it is never sent.",
        retry_status: { type: "retrying" as const },
      },
    ];
  });
}

/** True for a wildcard if any name below it may be spoken to. */
function isReachable(network: SandboxNetwork, pattern: string): boolean {
  const wanted = pattern.toLowerCase();
  if (!wanted.startsWith("*.")) {
    const host = readHost(wanted);
    return host !== undefined && judgeHost(network, host).type === "permitted";
  }
  if (network.type !== "limited") return network.type === "unrestricted";
  const below = wanted.slice(1);
  return network.hosts.some((permitted) => {
    const name = permitted.replace(/^\*/, "");
    const isWild = name !== permitted;
    return name.endsWith(below) || (isWild && below.endsWith(name));
  });
}
