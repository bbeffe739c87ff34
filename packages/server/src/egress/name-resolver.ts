import { lookup, Resolver } from "node:dns/promises";

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** All addresses of a host; rejects if it has none. */
export type ResolveName = (host: string) => Promise<readonly ResolvedAddress[]>;

export interface NameResolverOptions {
  /** True of names that the operator trusts; those are also looked for in this machine's own files. */
  readonly isNamed: (host: string) => boolean;
  /** `address:port` of name servers instead of the system's. */
  readonly servers?: readonly string[];
}

/** RFC 6761: such names are this machine, and no name server is asked. */
const LOCAL = /^(?:.*\.)?localhost\.?$/i;
const LOOPBACK: readonly ResolvedAddress[] = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

/** Milliseconds before a name server is asked again, and how often it is asked at all. */
const ANSWER_MS = 2_000;
const TRIES = 2;

/**
 * Asks name servers without the system's resolver, whose few threads everything else in this process
 * waits for as well: a name whose server is silent must not keep others waiting.
 */
export function nameResolver({ isNamed, servers }: NameResolverOptions): ResolveName {
  return async (host) => {
    if (LOCAL.test(host)) return LOOPBACK;
    if (isNamed(host)) return await lookup(host, { all: true });
    const resolver = new Resolver({ timeout: ANSWER_MS, tries: TRIES });
    if (servers !== undefined) resolver.setServers([...servers]);
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const found = [
      ...(v4.status === "fulfilled" ? v4.value.map((address) => ({ address, family: 4 })) : []),
      ...(v6.status === "fulfilled" ? v6.value.map((address) => ({ address, family: 6 })) : []),
    ];
    if (found.length === 0 && v4.status === "rejected") throw v4.reason;
    return found;
  };
}
