import fc from "fast-check";
import { expect, test } from "vitest";
import { secretForms } from "./secret-forms.ts";
import { SecretMask } from "./secret-mask.ts";

const SECRET = "s3cret/with+signs and ümläut\n";

function inPieces(mask: SecretMask, whole: Buffer, cuts: readonly number[]): Buffer {
  const stream = mask.stream();
  const places = [...cuts, whole.length].sort((one, other) => one - other);
  const parts = places.map((to, at) => whole.subarray(places[at - 1] ?? 0, to));
  return Buffer.concat([...parts.map((part) => stream.push(part)), stream.end()]);
}

test("masks a secret by as many stars as it has bytes", () => {
  const mask = new SecretMask(["hunter2hunter2", "ümläut"]);
  expect(mask.text("<hunter2hunter2> <ümläut>")).toBe(`<${"*".repeat(14)}> <${"*".repeat(8)}>`);
  expect(mask.text("hunter2")).toBe("hunter2");
});

test.each([
  ["base64", Buffer.from(SECRET).toString("base64"), 38],
  ["base64 behind another text", Buffer.from(`u:${SECRET}`).toString("base64"), 38],
  ["base64 for URLs", Buffer.from(`user:${SECRET}`).toString("base64url"), 38],
  ["hexadecimal", Buffer.from(SECRET).toString("hex").toUpperCase(), 60],
  ["a URL", encodeURIComponent(SECRET), 40],
  ["a form", new URLSearchParams([["k", SECRET]]).toString().slice(2), 38],
  ["JSON", JSON.stringify(SECRET), 30],
  [
    "JSON of ASCII alone",
    JSON.stringify(SECRET).replace(/[ü]/g, "\\u00fc").replace("ä", "\\u00e4"),
    20,
  ],
])("masks it in %s", (_, text, starsMin) => {
  const masked = new SecretMask([SECRET]).text(text);
  expect(Buffer.byteLength(masked)).toBe(Buffer.byteLength(text));
  expect(masked.split("*").length - 1).toBeGreaterThanOrEqual(starsMin);
});

test("leaves alone what is too short to be told from other text", () => {
  expect(secretForms("abc")).toEqual([]);
  expect(new SecretMask(["abc"]).isEmpty).toBe(true);
  expect(new SecretMask(["abcd"]).text("abcde YWJjZA")).toBe("****e YWJjZA");
});

test("masks the same wherever the text is cut", () => {
  const secret = fc.stringMatching(/^[ab]{4,60}$/);
  const piece = fc.oneof(fc.stringMatching(/^[ab]{0,8}$/), fc.constant("secret"));
  fc.assert(
    fc.property(
      fc.array(secret, { minLength: 1, maxLength: 4 }),
      fc.array(piece, { maxLength: 12 }),
      fc.array(fc.nat(400), { maxLength: 8 }),
      (secrets, pieces, cuts) => {
        const text = pieces
          .map((part, at) => (part === "secret" ? (secrets[at % secrets.length] ?? "") : part))
          .join("");
        const whole = Buffer.from(text);
        const places = cuts.map((cut) => Math.min(cut, whole.length));
        const masked = inPieces(new SecretMask(secrets), whole, places).toString();
        expect(masked).toBe(naively(text, secrets));
      },
    ),
    { numRuns: 300 },
  );
});

/** All places of all secrets, also of those that overlap. */
function naively(text: string, secrets: readonly string[]): string {
  const isSecret = new Array<boolean>(text.length).fill(false);
  for (const form of secrets.flatMap(secretForms)) {
    for (let at = text.indexOf(form); at >= 0; at = text.indexOf(form, at + 1)) {
      isSecret.fill(true, at, at + form.length);
    }
  }
  return [...text].map((character, at) => (isSecret[at] ? "*" : character)).join("");
}

test("masks a long secret that comes byte by byte, and its beginning alone is nothing", () => {
  const long = "x".repeat(10) + "y".repeat(5_000);
  const whole = Buffer.from(`a ${long.slice(0, 4_000)} b ${long} c`);
  const cuts = whole.map((_, at) => at) as unknown as number[];
  const masked = inPieces(new SecretMask([long]), whole, [...cuts]).toString();
  expect(masked).toBe(`a ${long.slice(0, 4_000)} b ${"*".repeat(5_010)} c`);
});

test("lets go of little that is held back, and masks the rest of the secret all the same", () => {
  const stream = new SecretMask(["secret-of-someone"]).stream();
  expect(stream.push(Buffer.from("a s")).toString()).toBe("a ");
  expect(stream.isHolding).toBe(true);
  expect(stream.release().toString()).toBe("s");
  expect(stream.push(Buffer.from("ecret-of-someone.")).toString()).toBe(`${"*".repeat(16)}.`);
  expect(stream.push(Buffer.from("secret-of-some")).toString()).toBe("");
  // That is most of it.
  expect(stream.release().toString()).toBe("");
  expect(stream.end().toString()).toBe("secret-of-some");
});

test("does not change the bytes that it is given", () => {
  const bytes = Buffer.from("a secret here");
  new SecretMask(["secret"]).bytes(bytes);
  expect(bytes.toString()).toBe("a secret here");
});

test("of a long secret that comes slowly, six bytes are let go of at the most", () => {
  const secret = "sk-live-0123456789abcdef0123456789abcdef";
  const stream = new SecretMask([secret]).stream();
  let said = "";
  for (const letter of secret) {
    said += stream.push(Buffer.from(letter)).toString();
    said += stream.release().toString();
  }
  said += stream.end().toString();
  expect(said).toBe(secret.slice(0, 6) + "*".repeat(secret.length - 6));
});
