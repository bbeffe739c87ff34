import { expect, test } from "vitest";
import { placeholdersIn, UnfitSecretError, withSecrets } from "./header-secrets.ts";

const KEY = `drover-secret-${"k".repeat(32)}`;
const OTHER = `drover-secret-${"0".repeat(32)}`;
const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;

test("finds placeholders in values, and in what is written in base64", () => {
  const headers = [
    ["a", `x${KEY}x`],
    [OTHER, "name"],
    ["Authorization", basic(`user:${OTHER}`)],
    ["Host", KEY],
    ["b", "drover-secret-short"],
  ] as const;
  expect([...placeholdersIn(headers)]).toEqual([KEY, OTHER]);
});

test("puts secrets in, and leaves all else as it is", () => {
  const headers = [
    ["A", `<${KEY}> ${OTHER}`],
    ["A", "second"],
    ["Authorization", basic(`${KEY}:${OTHER}`)],
    ["authorization", "Basic !"],
    ["Host", KEY],
  ] as const;
  expect(withSecrets(headers, new Map([[KEY, "$& ü"]]))).toEqual([
    ["A", `<$& ${Buffer.from("ü").toString("latin1")}> ${OTHER}`],
    ["A", "second"],
    ["Authorization", basic(`$& ü:${OTHER}`)],
    ["authorization", "Basic !"],
    ["Host", KEY],
  ]);
});

test.each(["a\nb", "a\r\nx: y", "a\0b", "a\x7fb"])(
  "refuses %j, which no header can hold",
  (secret) => {
    const secrets = new Map([[KEY, secret]]);
    expect(() => withSecrets([["X-Key", KEY]], secrets)).toThrow(UnfitSecretError);
    expect(() => withSecrets([["X-Key", KEY]], secrets)).toThrow("in the header x-key");
    // In base64 it can.
    expect(withSecrets([["authorization", basic(KEY)]], secrets)).toEqual([
      ["authorization", basic(secret)],
    ]);
  },
);
