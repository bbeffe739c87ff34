import { networkInterfaces } from "node:os";
import type { Egress } from "../core/ports/egress.ts";
import { EgressPolicy } from "./egress-policy.ts";
import { GuardedEgress } from "./guarded-egress.ts";
import { nameResolver } from "./name-resolver.ts";

/**
 * The way to servers of others. `allow` is what the operator named as exceptions: addresses, networks
 * and host names.
 */
export function openEgress(allow: readonly string[]): Egress {
  const policy = new EgressPolicy({ allow, ownAddresses });
  const resolve = nameResolver({ isNamed: (host) => policy.isNamed(host) });
  return new GuardedEgress({ policy, resolve });
}

/** As they are now: machines get and lose addresses. */
function ownAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((list) =>
    (list ?? []).map(({ address }) => address),
  );
}
