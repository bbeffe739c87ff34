import { networkInterfaces } from "node:os";
import type { Config } from "../config.ts";
import type { Egress } from "../core/ports/egress.ts";
import { EgressPolicy } from "../egress/egress-policy.ts";
import { GuardedEgress } from "../egress/guarded-egress.ts";
import { nameResolver } from "../egress/name-resolver.ts";

/** The way to servers of others, with what the operator named as exceptions. */
export function openEgress({ egressAllow: allow }: Config): Egress {
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
