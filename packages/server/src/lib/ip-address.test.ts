import { isIP } from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import { contains, parseIp, parseNetwork } from "./ip-address.ts";

test.each([
  ["0.0.0.0", 4, 0n],
  ["127.0.0.1", 4, 0x7f000001n],
  ["255.255.255.255", 4, 0xffffffffn],
  ["::", 6, 0n],
  ["::1", 6, 1n],
  ["1::", 6, 1n << 112n],
  ["2001:DB8::8:800:200c:417a", 6, 0x20010db80000000000080800200c417an],
  ["::ffff:127.0.0.1", 6, 0xffff7f000001n],
  ["1:2:3:4:5:6:1.2.3.4", 6, 0x00010002000300040005000601020304n],
])("%s", (text, family, value) => {
  expect(parseIp(text)).toEqual({ family, value });
});

test.each([
  "",
  "1",
  "127.1",
  "0x7f.0.0.1",
  "0177.0.0.1",
  "1.2.3.4.5",
  "fe80::1%eth0",
  ":::",
  "a",
  "[::1]",
])("%j is no address", (text) => {
  expect(parseIp(text)).toBeUndefined();
});

test("whatever Node takes for an address is one, and says the same", () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
      const ip = parseIp(text);
      expect(ip?.family).toBe(isIP(text));
      if (ip?.family !== 6) return;
      const canonical = new URL(`http://[${text}]/`).hostname.slice(1, -1);
      expect(parseIp(canonical)).toEqual(ip);
    }),
  );
});

test("networks hold what shares their leading bits", () => {
  const holds = (network: string, text: string) => {
    const [of, ip] = [parseNetwork(network), parseIp(text)];
    return of !== undefined && ip !== undefined && contains(of, ip);
  };
  expect(holds("10.0.0.0/8", "10.255.0.1")).toBe(true);
  expect(holds("10.1.2.3/8", "10.255.0.1")).toBe(true);
  expect(holds("10.0.0.0/8", "11.0.0.0")).toBe(false);
  expect(holds("127.0.0.1", "127.0.0.1")).toBe(true);
  expect(holds("127.0.0.1", "127.0.0.2")).toBe(false);
  expect(holds("0.0.0.0/0", "255.1.1.1")).toBe(true);
  expect(holds("0.0.0.0/0", "::1")).toBe(false);
  expect(holds("fd00::/8", "fdff::1")).toBe(true);
  expect(holds("::/0", "127.0.0.1")).toBe(false);
});

test.each([
  "10.0.0.0/33",
  "10.0.0.0/08",
  "10.0.0.0/-1",
  "::/129",
  "10.0.0.0/8/8",
  "10.0/8",
  "x/8",
  "/8",
  "1.2.3.4/",
])("%j is no network", (text) => {
  expect(parseNetwork(text)).toBeUndefined();
});
