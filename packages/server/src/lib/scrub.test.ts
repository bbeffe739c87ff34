import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { scrubber } from "./scrub.ts";

const KEY = 'sk-Zq81/Tw_4rXb+9LmKd"7Yv%0hPaN';
const scrub = scrubber([KEY], { lengthMax: 2_000 });

/** Characters in a row of the key that may be seen. */
const SEEN_MAX = 7;

function expectNothingOf(key: string, text: string): void {
  for (let at = 0; at + SEEN_MAX < key.length; at++) {
    expect(text).not.toContain(key.slice(at, at + SEEN_MAX + 1));
  }
}

describe("a known secret", () => {
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  const entities = (text: string) =>
    [...text].map((character) => `&#${character.codePointAt(0)};`).join("");
  test.each<[string, string, number?]>([
    ["as it is", KEY],
    ["in JSON", JSON.stringify(KEY)],
    ["in JSON, in JSON", JSON.stringify(JSON.stringify(KEY))],
    ["in a URL", encodeURIComponent(KEY)],
    ["in a URL, in small letters", encodeURIComponent(KEY).toLowerCase()],
    ["in base64", base64(KEY)],
    ["in base64 for URLs", Buffer.from(KEY).toString("base64url")],
    ["in base64 after one byte", base64(`:${KEY}`)],
    ["in base64 after two bytes", base64(`x:${KEY}`)],
    ["in base64 after a user's name", base64(`someone:${KEY}`), 12],
    ["in hexadecimal", Buffer.from(KEY).toString("hex")],
    ["in HTML", KEY.replaceAll('"', "&quot;").replaceAll("+", "&#43;")],
    ["in numbers of HTML", entities(KEY)],
    [
      "in escapes of JSON",
      [...KEY].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""),
    ],
    ["wrapped", KEY.replaceAll(/(.{6})/g, "$1\n    ")],
    ["spelt", [...KEY].join(" ")],
    ["without its end", KEY.slice(0, 12)],
    ["without its beginning", KEY.slice(-12)],
    ["in capitals", KEY.toUpperCase()],
  ])("is taken out %s", (_, written, othersLength = 0) => {
    const text = scrub(`The key ${written} is wrong.`);
    expectNothingOf(written.slice(othersLength), text);
    expectNothingOf(KEY, text);
    expect(text).toMatch(/^The key .*\[redacted\].* is wrong\.$/s);
  });

  test("is taken out wherever it stands, and nothing else is touched", () => {
    const word = fc.stringMatching(/^[a-z]{1,7}$/);
    const secret = fc.stringMatching(/^[A-Za-z0-9+/_=-]{16,80}$/);
    fc.assert(
      fc.property(secret, fc.array(word), fc.array(word), fc.nat(3), (key, before, after, form) => {
        const written =
          [key, JSON.stringify(key), encodeURIComponent(key), base64(`u:${key}`)][form] ?? key;
        const text = scrubber([key], { lengthMax: 10_000 })(
          [...before, written, ...after].join(" "),
        );
        expectNothingOf(key, text);
        expectNothingOf(base64(key).slice(2, -4), text);
        for (const kept of [...before, ...after]) expect(text).toContain(kept);
      }),
    );
  });

  test("is taken out of an error page that shows the request's headers", () => {
    const page = `<html><pre>POST /v1/messages\nX-Api-Key: ${KEY}\nAuthorization: Bearer ${KEY}\n</pre></html>`;
    expect(scrub(page)).not.toContain(KEY.slice(0, 8));
    expect(scrub(page)).toContain("POST /v1/messages");
  });
});

test.each([
  ["x-api-key: abc123def", "abc123def"],
  ['{"x-api-key": "abc123def"}', "abc123def"],
  ['{\\"api_key\\":\\"abc123def\\"}', "abc123def"],
  ["<td>Authorization</td><td>Bearer abc123def</td>", "abc123def"],
  ["<tr><th>X-API-Key</th> <td>abc123def</td>", "abc123def"],
  ["authorization=Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNz"],
  ["proxy http://someone:hunter22@proxy.example:3128 refused", "hunter22"],
  ["GET https://api.example/v1?key=abc123def&x=1", "abc123def"],
  ["Incorrect API key provided: sk-proj-4f9a8b7c6d5e.", "4f9a8b7c6d5e"],
  ["Set-Cookie: session=abc123def; Path=/", "abc123def"],
  ["token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "eyJzdWIiOiIxIn0"],
])("what looks like a credential is taken out: %s", (text, secret) => {
  expect(scrub(text)).not.toContain(secret);
  expect(scrub(text)).toContain("[redacted]");
});

test("sentences without a credential stay as they are", () => {
  for (const sentence of [
    "messages.3.content.1.image.source.base64: image exceeds 10 MB maximum: 1 > 2",
    "The model claude-opus-5-5 is overloaded. Ask again in 30 seconds.",
    "invalid x-api-key",
    "Your credit balance is too low to access the API. Go to Plans & Billing.",
    "model: claude-fable-9 (see https://docs.example.com/models?page=2#list)",
  ]) {
    expect(scrub(sentence)).toBe(sentence);
  }
});

test("a text is cut at its length, and a huge one takes no time", () => {
  expect(scrub("x".repeat(5_000))).toBe(`${"x".repeat(2_000)}…`);
  const hostile = `${"<".repeat(50_000)}authorization${"<td> ".repeat(20_000)}${"//".repeat(50_000)}`;
  expect(scrub(hostile).length).toBeLessThanOrEqual(2_001);
});

test("no text makes it throw", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.array(fc.string()), (text, secrets) => {
      const clean = scrubber(secrets, { lengthMax: 100 })(text);
      expect([clean.isWellFormed(), clean.includes("\0"), clean.length <= 101]).toEqual([
        true,
        false,
        true,
      ]);
    }),
  );
});
