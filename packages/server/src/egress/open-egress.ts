import { networkInterfaces } from "node:os";
import type { DestinationGuard, Egress } from "../core/ports/egress.ts";
import { PolicyGuard } from "./destination-guard.ts";
import { EgressPolicy } from "./egress-policy.ts";
import { GuardedEgress } from "./guarded-egress.ts";
import { nameResolver } from "./name-resolver.ts";

/**
 * The way to servers of others. `allow` is what the operator named as exceptions: addresses, networks
 * and host names.
 */
export function openEgress(allow: readonly string[]): Egress {
  return new GuardedEgress(judging(allow));
}

/** By the same rules, for what programs in sandboxes connect to. */
export function openGuard(allow: readonly string[]): DestinationGuard {
  return new PolicyGuard(judging(allow));
}

/** Whether the operator named the host, or the address that it is at: then it may be spoken to without TLS. */
export function plainAllowed(allow: readonly string[]): (host: string, address: string) => boolean {
  const { policy } = judging(allow);
  return (host, address) => policy.verdict(host, address) === "named";
}

function judging(allow: readonly string[]) {
  const policy = new EgressPolicy({ allow, ownAddresses });
  return { policy, resolve: nameResolver({ isNamed: (host) => policy.isNamed(host) }) };
}

/** As they are now: machines get and lose addresses. */
function ownAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((list) =>
    (list ?? []).map(({ address }) => address),
  );
}
