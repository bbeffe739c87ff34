import { expect, test } from "vitest";
import { shortHash } from "./short-hash.ts";

test.each([
  ["", 0xcbf29ce484222325n],
  ["a", 0xaf63dc4c8601ec8cn],
  ["foobar", 0x85944171f73967e8n],
])("the hash of %j is that of FNV-1a, in letters and digits", (text, expected) => {
  expect(shortHash(text)).toBe(expected.toString(36).padStart(13, "0"));
});
