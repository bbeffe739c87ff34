import type { DestinationGuard, Destinations } from "../core/ports/egress.ts";
import { parseIp } from "../lib/ip-address.ts";
import type { EgressPolicy } from "./egress-policy.ts";
import type { ResolveName } from "./name-resolver.ts";

export interface GuardOptions {
  readonly policy: EgressPolicy;
  readonly resolve: ResolveName;
  readonly resolveMs?: number;
}

const RESOLVE_MS = 10_000;
/** A name with more addresses is as well reached at the first of them. */
const ADDRESSES_MAX = 8;

/** Finds out where a host is and gives the addresses that `EgressPolicy` lets through. */
export class PolicyGuard implements DestinationGuard {
  readonly #policy: EgressPolicy;
  readonly #resolve: ResolveName;
  readonly #resolveMs: number;

  constructor({ policy, resolve, resolveMs = RESOLVE_MS }: GuardOptions) {
    this.#policy = policy;
    this.#resolve = resolve;
    this.#resolveMs = resolveMs;
  }

  async destinations(host: string): Promise<Destinations> {
    const found = await this.#find(host);
    if (found === undefined || found.length === 0) {
      return { type: "failed", message: "no address was found for the name" };
    }
    const addresses = found
      .filter((address) => this.#policy.verdict(host, address) !== "refused")
      .slice(0, ADDRESSES_MAX);
    if (addresses.length > 0) return { type: "addresses", addresses };
    return { type: "refused", message: "at no address that may be dialled" };
  }

  async #find(host: string): Promise<readonly string[] | undefined> {
    if (parseIp(host) !== undefined) return [host];
    const late = Promise.withResolvers<undefined>();
    const timer = setTimeout(late.resolve, this.#resolveMs, undefined);
    try {
      const found = await Promise.race([this.#resolve(host), late.promise]);
      return found?.map(({ address }) => address);
    } catch {
      // Why is the name server's to say, and differs; that there is none is all that is known.
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }
}
