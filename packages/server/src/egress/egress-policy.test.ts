import fc from "fast-check";
import { expect, test } from "vitest";
import { EgressPolicy } from "./egress-policy.ts";

const policy = (...allow: readonly string[]) =>
  new EgressPolicy({ allow, ownAddresses: () => ["203.0.114.7", "2600::7", "fe80::1%eth0"] });

test.each([
  "1.1.1.1",
  "8.8.8.8",
  "203.0.114.8",
  "2600::8",
  "2606:4700:4700::1111",
  "64:ff9b::808:808",
  "::ffff:8.8.8.8",
])("%s is of the public internet", (address) => {
  expect(policy().verdict("h", address)).toBe("public");
});

test.each([
  ["this host", "0.0.0.0"],
  ["private", "10.0.0.1"],
  ["private", "172.16.0.1"],
  ["private", "172.31.255.255"],
  ["private", "192.168.1.1"],
  ["shared", "100.64.0.1"],
  ["metadata", "100.100.100.200"],
  ["loopback", "127.0.0.1"],
  ["loopback", "127.255.255.254"],
  ["metadata", "169.254.169.254"],
  ["metadata", "169.254.170.2"],
  ["metadata", "168.63.129.16"],
  ["metadata", "192.0.0.192"],
  ["multicast", "224.0.0.1"],
  ["broadcast", "255.255.255.255"],
  ["its own", "203.0.114.7"],
  ["its own, mapped", "::ffff:203.0.114.7"],
  ["its own", "2600::7"],
  ["unspecified", "::"],
  ["loopback", "::1"],
  ["link-local", "fe80::1"],
  ["link-local with a zone", "fe80::1%eth0"],
  ["unique local", "fd00:ec2::254"],
  ["multicast", "ff02::1"],
  ["site-local", "fec0::1"],
  ["mapped", "::ffff:127.0.0.1"],
  ["mapped", "::ffff:a9fe:a9fe"],
  ["compatible", "::127.0.0.1"],
  ["translated", "::ffff:0:127.0.0.1"],
  ["NAT64", "64:ff9b::7f00:1"],
  ["NAT64", "64:ff9b::a9fe:a9fe"],
  ["local NAT64", "64:ff9b:1::808:808"],
  ["6to4", "2002:7f00:1::"],
  ["6to4", "2002:808:808::"],
  ["Teredo", "2001:0:53aa:64c:0:0:0:1"],
  ["documentation", "2001:db8::1"],
  ["no address", "localhost"],
  ["no address", ""],
])("%s: %s is refused", (_, address) => {
  expect(policy().verdict("h", address)).toBe("refused");
});

test("what the operator named may be dialled, by address, network or name", () => {
  const named = policy("127.0.0.1", "10.1.0.0/16", "fd00::/8", "MCP.internal.");
  expect(named.verdict("h", "127.0.0.1")).toBe("named");
  expect(named.verdict("h", "::ffff:127.0.0.1")).toBe("named");
  expect(named.verdict("h", "127.0.0.2")).toBe("refused");
  expect(named.verdict("h", "10.1.200.3")).toBe("named");
  expect(named.verdict("h", "10.2.0.1")).toBe("refused");
  expect(named.verdict("h", "fd12::1")).toBe("named");
  expect(named.verdict("mcp.internal", "192.168.0.9")).toBe("named");
  expect(named.verdict("Mcp.Internal.", "192.168.0.9")).toBe("named");
  expect(named.verdict("x.mcp.internal", "192.168.0.9")).toBe("refused");
  expect(named.verdict("mcp.internal.evil.com", "192.168.0.9")).toBe("refused");
});

test("no address of a private network gets through by another spelling", () => {
  const inner = fc.tuple(fc.constantFrom(10, 127), fc.nat(255), fc.nat(255), fc.nat(255));
  fc.assert(
    fc.property(inner, ([a, b, c, d]) => {
      const hex = [a * 256 + b, c * 256 + d].map((group) => group.toString(16)).join(":");
      const dotted = [a, b, c, d].join(".");
      for (const spelling of [
        dotted,
        `::ffff:${dotted}`,
        `::ffff:${hex}`,
        `64:ff9b::${hex}`,
        `2002:${hex}::1`,
        `::${hex}`,
      ]) {
        expect([spelling, policy().verdict("h", spelling)]).toEqual([spelling, "refused"]);
      }
    }),
  );
});
