import { isIPv4, isIPv6 } from "node:net";

/** An address as a number, so that networks are a matter of shifting. */
export interface IpAddress {
  readonly family: 4 | 6;
  readonly value: bigint;
}

export interface IpNetwork {
  readonly family: 4 | 6;
  readonly value: bigint;
  /** Leading bits that all of its addresses share. */
  readonly bits: number;
}

const LENGTH = { 4: 32, 6: 128 } as const;

/**
 * An address in the usual text: four decimal numbers without leading zeros, or any form of IPv6 without
 * a zone. Undefined for everything else, such as octal, hexadecimal or shortened IPv4.
 */
export function parseIp(text: string): IpAddress | undefined {
  if (isIPv4(text)) return { family: 4, value: joined(text.split(".").map(Number), 8) };
  if (!isIPv6(text) || text.includes("%")) return undefined;
  const [left = "", right] = text.split("::");
  const [start, end] = [groupsOf(left), groupsOf(right ?? "")];
  const zeros = right === undefined ? 0 : 8 - start.length - end.length;
  const groups = [...start, ...Array.from({ length: zeros }, () => 0), ...end];
  return { family: 6, value: joined(groups, 16) };
}

/** `10.0.0.0/8`, or an address alone, which is a network of one. Undefined for everything else. */
export function parseNetwork(text: string): IpNetwork | undefined {
  const [address = "", bitsText, ...rest] = text.split("/");
  const ip = parseIp(address);
  if (ip === undefined || rest.length > 0) return undefined;
  const most = LENGTH[ip.family];
  if (bitsText !== undefined && !/^(?:0|[1-9]\d{0,2})$/.test(bitsText)) return undefined;
  const bits = bitsText === undefined ? most : Number(bitsText);
  return bits > most ? undefined : { ...ip, bits };
}

/** False across families. */
export function contains(network: IpNetwork, ip: IpAddress): boolean {
  if (network.family !== ip.family) return false;
  const shift = BigInt(LENGTH[ip.family] - network.bits);
  return network.value >> shift === ip.value >> shift;
}

function groupsOf(text: string): number[] {
  if (text === "") return [];
  return text.split(":").flatMap((group) => {
    if (!group.includes(".")) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split(".").map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}

function joined(parts: readonly number[], bits: number): bigint {
  return parts.reduce((value, part) => (value << BigInt(bits)) | BigInt(part), 0n);
}
