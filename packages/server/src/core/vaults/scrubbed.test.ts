import fc from "fast-check";
import { expect, test } from "vitest";
import { scrubbed } from "./scrubbed.ts";

const shown = (text: string, secrets: readonly string[] = [], isTruncated = false) =>
  scrubbed({ bytes: new TextEncoder().encode(text), isTruncated }, secrets);

test.each([
  ["as it is", "no: s3cret+val/ue!"],
  ["as JSON", JSON.stringify({ a: "s3cret+val/ue!" })],
  ["in a URL", `x=${encodeURIComponent("s3cret+val/ue!")}`],
  ["in base64", btoa("s3cret+val/ue!")],
  ["with control characters in it", "s3cret\u0000+val\u001b/ue!"],
  ["wrapped", "s3cret+\nval/ue!"],
  ["twice", "s3cret+val/ue!s3cret+val/ue!"],
])("a secret is taken out %s", (_, text) => {
  const { body } = shown(text, ["s3cret+val/ue!", "other"]);
  expect(body).toContain("[redacted]");
  expect(body).not.toMatch(/s3cret|val\/ue/);
});

test("what looks like a secret is taken out too, and what does not stays", () => {
  const text = '{"access_token":"abc","error":"invalid_token","code":-32001,"message":"no"}';
  expect(shown(text).body).toBe(
    '{"access_token":"[redacted]","error":"invalid_token","code":-32001,"message":"no"}',
  );
  expect(shown("Authorization: Bearer abcdefghij").body).not.toContain("abcdefghij");
});

test("what is long is cut, and says so", () => {
  expect(shown("x".repeat(2_048))).toEqual({ body: "x".repeat(2_048), body_truncated: false });
  expect(shown("x".repeat(2_049))).toEqual({ body: "x".repeat(2_048), body_truncated: true });
  const text = `it says: ${"x".repeat(64)}`;
  expect(shown(text, [], true)).toEqual({ body: "it says: ", body_truncated: true });
});

test("no start of a secret is left where the text was cut off", () => {
  const secret = "abcdefghijklmnopqrstuvwxyz";
  for (let length = 0; length <= secret.length; length += 1) {
    const { body } = shown(`${"no ".repeat(40)}${secret.slice(0, length)}`, [secret], true);
    expect(body).not.toContain("a");
    expect(body).toContain("no no");
  }
});

test.each([
  ["!!!!!!!%", "00"],
  ["p4ss-w0&", "lt;"],
  ["p4ssw0\\u0", "041"],
])("a secret is taken out whose end looks like the beginning of an escape: %s", (secret, after) => {
  expect(shown(`no ${secret}${after}`, [secret]).body).toBe(`no [redacted]${after}`);
});

test("a secret is taken out that is mostly quotes", () => {
  const secret = '""!"\\!!"';
  expect(shown(`no ${secret}.`, [secret]).body).toBe("no [redacted].");
});

test("never shows a secret, whatever stands around it", () => {
  const secret = fc.string({ minLength: 8, maxLength: 40 }).filter((text) => /\S{8}/.test(text));
  fc.assert(
    fc.property(secret, fc.string(), fc.string(), (text, before, after) => {
      fc.pre(!before.includes(text) && !after.includes(text));
      const { body } = shown(`${before}${text}${after}`, [text]);
      expect(body).not.toContain(text);
    }),
    { numRuns: 1_000 },
  );
});
