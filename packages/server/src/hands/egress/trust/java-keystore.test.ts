import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { javaKeystore } from "./java-keystore.ts";

/** As Java reads it. */
function read(store: Buffer): { aliases: string[]; certificates: Buffer[]; rest: Buffer } {
  let at = 0;
  const bytes = (length: number) => {
    at += length;
    return store.subarray(at - length, at);
  };
  const number = () => bytes(4).readUInt32BE();
  const text = () => bytes(bytes(2).readUInt16BE()).toString();
  expect([number(), number()]).toEqual([0xfeedfeed, 2]);
  const aliases: string[] = [];
  const certificates: Buffer[] = [];
  for (let left = number(); left > 0; left--) {
    expect(number()).toBe(2);
    aliases.push(text());
    bytes(8);
    expect(text()).toBe("X.509");
    certificates.push(bytes(number()));
  }
  return { aliases, certificates, rest: store.subarray(at) };
}

test("holds the certificates, and the digest that Java checks", () => {
  const given = [Buffer.from("first"), Buffer.from("the second")];
  const store = javaKeystore(given);
  const { aliases, certificates, rest } = read(store);
  expect(certificates).toEqual(given);
  expect(new Set(aliases).size).toBe(2);
  const digest = createHash("sha1")
    .update(Buffer.from([..."changeit"].flatMap((letter) => [0, letter.charCodeAt(0)])))
    .update("Mighty Aphrodite")
    .update(store.subarray(0, -20))
    .digest();
  expect(rest).toEqual(digest);
});
