import { type IpAddress, type IpNetwork, parseIp, parseNetwork } from "../lib/ip-address.ts";
import { isIn, isPublic, unwrapped } from "./special-addresses.ts";

/** What may be dialled besides the public internet. */
interface Named {
  readonly networks: readonly IpNetwork[];
  readonly hosts: ReadonlySet<string>;
}

/**
 * Whether an address may be dialled for a host: `public`; `named` by the operator, also without TLS; or
 * `refused`.
 */
export type EgressVerdict = "public" | "named" | "refused";

export interface EgressPolicyOptions {
  /** Addresses, networks such as `10.0.0.0/8`, and host names, of which the name alone counts. */
  readonly allow: readonly string[];
  /** Of this machine, as they are now: also a public one is not for others to reach from here. */
  readonly ownAddresses: () => readonly string[];
}

export class EgressPolicy {
  readonly #named: Named;
  readonly #ownAddresses: () => readonly string[];

  constructor({ allow, ownAddresses }: EgressPolicyOptions) {
    const networks = allow.map(parseNetwork);
    this.#named = {
      networks: networks.filter((network) => network !== undefined),
      hosts: new Set(
        allow.filter((_, index) => networks[index] === undefined).map((host) => hostKey(host)),
      ),
    };
    this.#ownAddresses = ownAddresses;
  }

  /** True of a host that the operator named by its name. */
  isNamed(host: string): boolean {
    return this.#named.hosts.has(hostKey(host));
  }

  /** `host` is a name, or the address itself; `address` one that it resolves to. */
  verdict(host: string, address: string): EgressVerdict {
    const parsed = parseIp(address);
    if (parsed === undefined) return "refused";
    const ip = unwrapped(parsed);
    if (this.isNamed(host) || isIn(this.#named.networks, ip)) return "named";
    return isPublic(ip) && !this.#isOwn(ip) ? "public" : "refused";
  }

  #isOwn({ family, value }: IpAddress): boolean {
    return this.#ownAddresses().some((address) => {
      const own = parseIp(address.replace(/%.*$/, ""));
      return own?.family === family && own.value === value;
    });
  }
}

function hostKey(host: string): string {
  return host.toLowerCase().replace(/\.$/, "");
}
