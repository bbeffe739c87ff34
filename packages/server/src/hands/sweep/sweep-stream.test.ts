import { PassThrough } from "node:stream";
import { buffer } from "node:stream/consumers";
import { expect, test } from "vitest";
import { Secret } from "../../lib/secret.ts";
import { KnownSecrets } from "./known-secrets.ts";
import { SweepStream } from "./sweep-stream.ts";

test("masks what is known, also what comes up in the middle", async () => {
  const known: Secret[] = [];
  const sweep = new SweepStream(new KnownSecrets({ known: () => [...known] }));
  const whole = buffer(sweep);
  sweep.write("first-secret, fir");
  await turn();
  known.push(new Secret("first-secret"));
  sweep.write("st-secret, firs");
  sweep.write("t-secret, second-sec");
  await turn();
  known.push(new Secret("second-secret"));
  sweep.end("ret, second-secret");
  expect((await whole).toString()).toBe(
    "first-secret, first-secret, ************, second-secret, *************",
  );
});

test("does not keep the end of a message, though a secret may begin so", async () => {
  const sweep = new SweepStream(new KnownSecrets({ known: () => [new Secret("key-of-someone")] }));
  const given = new PassThrough();
  sweep.pipe(given);
  const said: string[] = [];
  given.on("data", (chunk) => said.push(String(chunk)));
  sweep.write("what is the k");
  await expect.poll(() => said.join("")).toBe("what is the k");
  sweep.write("ey-of-someone?");
  await expect.poll(() => said.join("")).toBe("what is the k*************?");
});

test("makes a mask anew only when there is more", () => {
  const secrets = [new Secret("one-secret")];
  const known = new KnownSecrets({ known: () => secrets.map((each) => new Secret(each.reveal())) });
  const { mask } = known;
  expect(known.mask).toBe(mask);
  secrets.push(new Secret("two-secret"));
  expect(known.mask).not.toBe(mask);
});

function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
