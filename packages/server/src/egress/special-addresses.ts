import { contains, type IpAddress, type IpNetwork, parseNetwork } from "../lib/ip-address.ts";

/** What is not of the public internet, by the registries of special addresses, and what clouds answer at. */
const SPECIAL_V4 = networks([
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  // Links, and the metadata of most clouds.
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  // Looks public and is the host of every Azure machine.
  "168.63.129.16/32",
  "224.0.0.0/4",
  "240.0.0.0/4",
]);

const PUBLIC_V6 = networks(["2000::/3"]);
/** Within it: tunnels such as Teredo and 6to4, which hide an IPv4 address, and what is reserved. */
const SPECIAL_V6 = networks(["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"]);

/** IPv6 addresses that mean an IPv4 address, which is the last 32 bits. */
const WRAPPERS = networks(["::ffff:0:0/96", "64:ff9b::/96"]);
const V4_MASK = 0xffffffffn;

/** True of an address of the public internet, false of everything that is somewhere special. */
export function isPublic(ip: IpAddress): boolean {
  const { family } = ip;
  if (family === 4) return !isIn(SPECIAL_V4, ip);
  return isIn(PUBLIC_V6, ip) && !isIn(SPECIAL_V6, ip);
}

/** The IPv4 address that an IPv6 one stands for where it does, mapped or through NAT64; else itself. */
export function unwrapped(ip: IpAddress): IpAddress {
  return isIn(WRAPPERS, ip) ? { family: 4, value: ip.value & V4_MASK } : ip;
}

export function isIn(list: readonly IpNetwork[], ip: IpAddress): boolean {
  return list.some((network) => contains(network, ip));
}

function networks(texts: readonly string[]): readonly IpNetwork[] {
  return texts.map((text) => {
    const network = parseNetwork(text);
    if (network === undefined) throw new Error(`${text} is no network`);
    return network;
  });
}
