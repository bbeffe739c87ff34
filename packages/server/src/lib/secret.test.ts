import { inspect } from "node:util";
import { expect, test } from "vitest";
import { Secret } from "./secret.ts";

test("a secret shows itself in no way of printing, and only when asked to reveal", () => {
  const secret = new Secret("canary-value");
  const printed = [
    String(secret),
    `${secret}`,
    JSON.stringify({ secret }),
    inspect({ secret }, { showHidden: true, depth: 9 }),
    JSON.stringify(Object.entries(secret)),
  ];
  expect(printed.join(" ")).not.toContain("canary-value");
  expect(inspect(secret)).toBe("[redacted]");
  expect(secret.reveal()).toBe("canary-value");
});
