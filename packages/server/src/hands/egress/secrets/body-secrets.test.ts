import { expect, test } from "vitest";
import { withSecretsInside } from "./body-secrets.ts";

const KEY = `drover-secret-${"k".repeat(32)}`;
const STRANGER = `drover-secret-${"s".repeat(32)}`;
const secretOf = async (placeholder: string) => (placeholder === KEY ? "sëcret" : undefined);

async function filled(...pieces: readonly Uint8Array[]): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of withSecretsInside(each(pieces), secretOf)) parts.push(part);
  return Buffer.concat(parts).toString();
}

async function* each(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

test.each([
  ["", ""],
  ["nothing", "nothing"],
  [KEY, "sëcret"],
  [`${KEY}${KEY}`, "sëcretsëcret"],
  [`<${KEY}x>`, "<sëcretx>"],
  [STRANGER, STRANGER],
  [`drover-secret-drover-secret-${"k".repeat(32)}`, "drover-secret-sëcret"],
  [`drover-secret-${"k".repeat(31)}!`, `drover-secret-${"k".repeat(31)}!`],
  ["ends with drover-secr", "ends with drover-secr"],
  [`ends with ${KEY.slice(0, -1)}`, `ends with ${KEY.slice(0, -1)}`],
  ["dddrover-secrett", "dddrover-secrett"],
])("%s, cut anywhere", async (text, expected) => {
  const bytes = Buffer.from(text);
  for (let at = 0; at <= bytes.length; at++) {
    expect(await filled(bytes.subarray(0, at), bytes.subarray(at))).toBe(expected);
  }
  expect(await filled(...[...bytes].map((byte) => Buffer.from([byte])))).toBe(expected);
});

test("does not keep the end of a message, though a placeholder may begin so", async () => {
  const answered = Promise.withResolvers<void>();
  const body = withSecretsInside(
    (async function* () {
      yield Buffer.from("end");
      await answered.promise;
      yield Buffer.from(KEY.slice(0, 20));
      yield Buffer.from(KEY.slice(20));
    })(),
    secretOf,
  );
  const said: string[] = [];
  for await (const part of body) {
    said.push(part.toString());
    if (said.join("") === "end") answered.resolve();
  }
  expect(said.join("")).toBe("endsëcret");
});

test("rejects where a secret cannot be had", async () => {
  const body = withSecretsInside(each([Buffer.from(KEY)]), async () => {
    throw new Error("nobody answers");
  });
  await expect(body.next()).rejects.toThrow("nobody answers");
});
