import { X509Certificate } from "node:crypto";
import { expect, test } from "vitest";
import { SandboxAuthority } from "./sandbox-authority.ts";

test("signs for a name and for addresses, with what strict clients want to see", () => {
  const authority = new SandboxAuthority();
  const own = new X509Certificate(authority.pem);
  expect([own.ca, own.verify(own.publicKey)]).toEqual([true, true]);
  for (const [host, name] of [
    ["api.test", "DNS:api.test"],
    ["93.184.216.34", "IP Address:93.184.216.34"],
    ["2606:2800:220:1::1", "IP Address:2606:2800:220:1:0:0:0:1"],
    [`${"a".repeat(60)}.${"b".repeat(60)}.test`, `DNS:${"a".repeat(60)}.${"b".repeat(60)}.test`],
  ] as const) {
    const server = new X509Certificate(authority.identityOf(host).cert);
    expect(server.subjectAltName).toBe(name);
    expect([server.ca, server.checkIssued(own), server.verify(own.publicKey)]).toEqual([
      false,
      true,
      true,
    ]);
    expect(server.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
    expect(Date.parse(server.validTo)).toBeGreaterThan(Date.now());
    expect(Date.parse(server.validFrom)).toBeLessThan(Date.now());
  }
});

test("has the same certificate for the same host, and forgets those of hosts long ago", () => {
  const authority = new SandboxAuthority();
  const first = authority.identityOf("0.test");
  expect(authority.identityOf("0.test")).toBe(first);
  for (let number = 1; number <= 256; number++) authority.identityOf(`${number}.test`);
  expect(authority.identityOf("0.test")).not.toBe(first);
});

test("is not another one", () => {
  const one = new SandboxAuthority();
  const other = new X509Certificate(new SandboxAuthority().pem);
  const server = new X509Certificate(one.identityOf("api.test").cert);
  expect(server.verify(other.publicKey)).toBe(false);
});
