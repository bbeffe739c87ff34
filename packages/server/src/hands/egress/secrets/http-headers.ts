import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest, OutgoingHttpHeaders } from "node:http2";
import type { Headers } from "./header-secrets.ts";

/** For the next hop alone (RFC 9110, 7.6.1), and what says how long a body is. */
const HOP_BY_HOP = new Set([
  "connection",
  "expect",
  "http2-settings",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);

/** Pairs of what Node keeps in one list. */
export function pairsOf(raw: readonly string[]): Headers {
  return raw.flatMap((name, index) => {
    const value = raw[index + 1];
    return index % 2 === 1 || value === undefined ? [] : [[name, value] as const];
  });
}

/** Without what is for one hop, and without HTTP/2's own. */
export function endToEnd(headers: Headers): Headers {
  const named = new Set(
    valuesOf(headers, "connection").flatMap((value) => value.toLowerCase().split(/\s*,\s*/)),
  );
  return headers.filter(([name, value]) => {
    const key = name.toLowerCase();
    // Asked for by gRPC over any number of hops.
    if (key === "te") return value.toLowerCase() === "trailers";
    return !key.startsWith(":") && !HOP_BY_HOP.has(key) && !named.has(key);
  });
}

export function valuesOf(headers: Headers, wanted: string): string[] {
  return headers.flatMap(([name, value]) => (name.toLowerCase() === wanted ? [value] : []));
}

export function without(headers: Headers, ...names: readonly string[]): Headers {
  return headers.filter(([name]) => !names.includes(name.toLowerCase()));
}

/** As HTTP/2 has them: small letters, values of one name together. */
export function http2Headers(headers: Headers): OutgoingHttpHeaders {
  const all: Record<string, string[]> = {};
  for (const [name, value] of headers) {
    const key = name.toLowerCase();
    all[key] = [...(all[key] ?? []), value];
  }
  return Object.fromEntries(
    Object.entries(all).map(([name, values]) => {
      const [first] = values;
      return [name, values.length === 1 && first !== undefined ? first : values];
    }),
  );
}

/** All names of its host that a request gives. */
export function authoritiesOf(asked: IncomingMessage | Http2ServerRequest): string[] {
  const headers = pairsOf(asked.rawHeaders);
  return [...valuesOf(headers, ":authority"), ...valuesOf(headers, "host")];
}
