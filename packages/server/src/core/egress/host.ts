/** Where a connection is to go, in the one notation that is judged and recorded. */
export interface Host {
  readonly type: "name" | "address";
  /** A name in small letters without a final dot, or an address as `1.2.3.4` or `2001:db8::1`. */
  readonly text: string;
}

const LENGTH_MAX = 253;
const NAME =
  /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/;

/**
 * Reads what a program inside a sandbox calls a host, in whatever notation: `0x7f.1`, `2130706433` and
 * `[::ffff:127.0.0.1]` are the addresses that they are. Undefined for what is neither name nor address.
 */
export function readHost(text: string): Host | undefined {
  if (text.length > LENGTH_MAX + 1 || !/^[\w.:[\]-]+$/.test(text)) return undefined;
  const bare = text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1) : text;
  if (bare.includes(":")) return readIpv6(bare);
  const name = bare.toLowerCase().replace(/\.$/, "");
  if (name.length > LENGTH_MAX || !NAME.test(name)) return undefined;
  return lastLabelIsNumber(name) ? readIpv4(name) : { type: "name", text: name };
}

/** By the rule of the URL standard: such a host is an address or nothing. */
function lastLabelIsNumber(name: string): boolean {
  return /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/.test(name);
}

function readIpv4(text: string): Host | undefined {
  const host = urlHost(text);
  return host === undefined ? undefined : { type: "address", text: host };
}

function readIpv6(text: string): Host | undefined {
  const host = urlHost(`[${text}]`);
  return host === undefined ? undefined : { type: "address", text: host.slice(1, -1) };
}

function urlHost(text: string): string | undefined {
  return URL.canParse(`http://${text}/`) ? new URL(`http://${text}/`).hostname : undefined;
}
