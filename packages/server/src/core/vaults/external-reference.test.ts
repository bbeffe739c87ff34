import { expect, test } from "vitest";
import { externalReference } from "./external-reference.ts";

test("a reference names a manager and a secret", () => {
  expect(externalReference("drover-secrets://files/team/api-key.txt")).toEqual({
    manager: "files",
    name: "team/api-key.txt",
  });
  expect(externalReference("drover-secrets://command/a")).toEqual({
    manager: "command",
    name: "a",
  });
});

test.each(["", "secret", "https://files/a", " drover-secrets://files/a", "x drover-secrets://"])(
  "%j is a secret itself",
  (text) => {
    expect(externalReference(text)).toBeUndefined();
  },
);

test.each([
  "drover-secrets://",
  "drover-secrets://files",
  "drover-secrets://files/",
  "drover-secrets://vault/a",
  "drover-secrets://files/../a",
  "drover-secrets://files/a/../b",
  "drover-secrets://files/.hidden",
  "drover-secrets://files//a",
  "drover-secrets://files/a/",
  "drover-secrets://files/a b",
  "drover-secrets://files/a\n",
  `drover-secrets://files/${"a".repeat(257)}`,
])("%j is neither", (text) => {
  expect(externalReference(text)).toBeTypeOf("string");
});
