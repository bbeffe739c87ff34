import fc from "fast-check";
import { expect, test } from "vitest";
import { readHost } from "./host.ts";

test.each([
  ["api.example.com", "name", "api.example.com"],
  ["API.Example.COM.", "name", "api.example.com"],
  ["_service.a-b.test", "name", "_service.a-b.test"],
  ["localhost", "name", "localhost"],
  ["1.2.3.4", "address", "1.2.3.4"],
  ["127.1", "address", "127.0.0.1"],
  ["0", "address", "0.0.0.0"],
  ["2130706433", "address", "127.0.0.1"],
  ["0x7f.1", "address", "127.0.0.1"],
  ["0177.0.0.1", "address", "127.0.0.1"],
  ["10.0.0.1.", "address", "10.0.0.1"],
  ["::1", "address", "::1"],
  ["[::FFFF:127.0.0.1]", "address", "::ffff:7f00:1"],
  ["2001:DB8:0:0:0:0:0:1", "address", "2001:db8::1"],
])("%s is the %s %s", (text, type, host) => {
  expect(readHost(text)).toEqual({ type, text: host });
});

test.each([
  "",
  ".",
  "a..b",
  "-a.test",
  "a b",
  "a/b",
  "a@b",
  "a%2eb",
  "１２７.0.0.1",
  "exämple.test",
  "fe80::1%lo",
  "1.2.3.4.5",
  "256.1.1.1",
  "a.0x7fffffffff",
  "[::1",
  "a:80",
  "x".repeat(64),
  `${"a.".repeat(127)}a.`,
])("%j is no host", (text) => {
  expect(readHost(text)).toBeUndefined();
});

test("what was read is read the same again", () => {
  fc.assert(
    fc.property(fc.oneof(fc.domain(), fc.ipV4Extended(), fc.ipV6(), fc.string()), (text) => {
      const host = readHost(text);
      if (host !== undefined) expect(readHost(host.text)).toEqual(host);
    }),
  );
});
