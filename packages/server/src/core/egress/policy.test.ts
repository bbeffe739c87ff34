import { expect, test } from "vitest";
import type { SandboxNetwork } from "../ports/hands.ts";
import { readHost } from "./host.ts";
import { judgeHost } from "./policy.ts";

function verdict(network: SandboxNetwork, text: string): string {
  const host = readHost(text);
  if (host === undefined) throw new Error(`${text} is no host`);
  return judgeHost(network, host).type;
}

const LIMITED: SandboxNetwork = {
  type: "limited",
  hosts: ["api.example.com", "*.wild.example", "203.0.113.7", "2001:db8::1"],
};

test.each([
  "api.example.com",
  "API.EXAMPLE.COM.",
  "a.wild.example",
  "a.b.wild.example",
  "203.0.113.7",
  "0xcb007107",
  "[2001:DB8::1]",
])("%s is permitted where it is listed", (host) => {
  expect(verdict(LIMITED, host)).toBe("permitted");
});

test.each([
  "example.com",
  "x.api.example.com",
  "api.example.com.evil.example",
  "wild.example",
  "evilwild.example",
  "203.0.113.8",
  "::ffff:203.0.113.7",
  "2001:db8::2",
])("%s is refused beside it", (host) => {
  expect(verdict(LIMITED, host)).toBe("refused");
});

test("without limits every host is permitted, and without a network none", () => {
  for (const host of ["example.com", "203.0.113.8", "::1"]) {
    expect(verdict({ type: "unrestricted" }, host)).toBe("permitted");
    expect(verdict({ type: "none" }, host)).toBe("refused");
    expect(verdict({ type: "limited", hosts: [] }, host)).toBe("refused");
  }
});
