import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { testSecretBox } from "../core/ports/secret-box.testsuite.ts";
import { Secret } from "../lib/secret.ts";
import { createEnvelopeBox } from "./envelope-box.ts";
import { givenKeys } from "./given-keys.ts";

testSecretBox(async () => {
  let keys = [newKey()];
  const box = createEnvelopeBox({ keys: () => givenKeys(keys, "the test").keys() });
  return {
    box,
    rotate: async () => {
      keys = [newKey(), ...keys];
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
});

test("what was sealed stays unopened under other keys, and the error holds none of them", () => {
  const [mine, other] = [newKey(), newKey()];
  const sealed = createEnvelopeBox(givenKeys([mine], "a")).seal(new Secret("canary"), "place");
  const box = createEnvelopeBox(givenKeys([other], "b"));
  expect(() => box.open(sealed, "place")).toThrow(/^a stored secret does not open/);
});

const WRITTEN_BEFORE = [
  "v1",
  "48b7d53b77955e58",
  "UCaF639YETg6UOgBOnB8HCuwJrhCCuTV8QIuhjFZsM7Luq_DGssgd9m78F8rk1EF5lFkrIWcvnDvPkEv",
  "OhHlUvQa_5jr8tQI4DM22NgGtHoM-VdimKh3N0vURJZfcDjaGXgLirX_JTAbnQEA3iY",
].join(".");

test("a sealed secret of an earlier version opens", () => {
  // Written once by this code: what is in databases must stay readable.
  const key = new Secret(Buffer.alloc(32, 7).toString("base64"));
  const box = createEnvelopeBox(givenKeys([key], "the test"));
  expect(box.open(WRITTEN_BEFORE, "wrkspc_1/vcrd_1/secrets").reveal()).toBe(
    "from the first version",
  );
});

test.each([
  ["nothing", []],
  ["too short", ["c2hvcnQ="]],
  ["no base64", ["!".repeat(44)]],
  ["a good one, then a bad one", [Buffer.alloc(32, 1).toString("base64"), "bad-canary"]],
  ["the same twice", Array(2).fill(Buffer.alloc(32, 1).toString("base64"))],
])("bad keys are refused in a sentence without them: %s", (_name, texts) => {
  const given = texts.map((text) => new Secret(text));
  expect(() => givenKeys(given, "DROVER_ENCRYPTION_KEY")).toThrow(
    /^[A-Z].*DROVER_ENCRYPTION_KEY.*\.$/,
  );
  expect(() => givenKeys(given, "DROVER_ENCRYPTION_KEY")).not.toThrow(/canary|c2hv|!!|AQEB/);
});

function newKey(): Secret {
  return new Secret(randomBytes(32).toString("base64"));
}
