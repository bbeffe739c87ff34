import fc from "fast-check";
import { expect, test } from "vitest";
import { dnsResponse, readQuestion } from "./dns-message.ts";

function packet(name: string, { type = 1, flags = 0x0120, questions = 1, more = "" } = {}): Buffer {
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xbeef, 0);
  head.writeUInt16BE(flags, 2);
  head.writeUInt16BE(questions, 4);
  // As glibc sends it, with EDNS.
  head.writeUInt16BE(1, 10);
  const labels = name.split(".").map((label) => {
    return Buffer.concat([Buffer.from([label.length]), Buffer.from(label, "latin1")]);
  });
  const tail = Buffer.from([0, 0, type, 0, 1]);
  return Buffer.concat([head, ...labels, tail, Buffer.from(more)]);
}

test("a question is read, and answered with what it asked", () => {
  const question = readQuestion(packet("Api.Example.com", { more: "an EDNS record" }));
  expect(question).toMatchObject({ name: "Api.Example.com", type: 1 });
  if (question === undefined) throw new Error("no question");
  const answer = dnsResponse(question, { type: "address", address: "198.18.1.255" });
  expect(answer.toString("hex")).toBe(
    `beef818000010001000000000341706907${Buffer.from("Example").toString("hex")}03636f6d0000010001${"c00c00010001"}0000003c0004c61201ff`,
  );
  expect(dnsResponse(question, { type: "nothing" }).toString("hex", 0, 12)).toBe(
    "beef81800001000000000000",
  );
  expect(dnsResponse(question, { type: "refused" }).toString("hex", 0, 12)).toBe(
    "beef81850001000000000000",
  );
});

test.each([
  ["an answer", packet("a.test", { flags: 0x8180 })],
  ["an update", packet("a.test", { flags: 0x2800 })],
  ["two questions", packet("a.test", { questions: 2 })],
  ["no question", packet("a.test", { questions: 0 })],
  ["a cut packet", packet("a.test").subarray(0, 20)],
  ["the root", packet("").fill(0, 12)],
  ["a name that is too long", packet(Array(130).fill("aa").join("."))],
])("%s is not answered", (_, bytes) => {
  expect(readQuestion(bytes)).toBeUndefined();
});

test("a label with a dot in it, and a pointer, are no names", () => {
  const dotted = packet("aXtest.evil");
  dotted[14] = ".".charCodeAt(0);
  expect(readQuestion(dotted)).toBeUndefined();
  const pointing = packet("a.test");
  pointing[12] = 0xc0;
  expect(readQuestion(pointing)).toBeUndefined();
});

test("any bytes are a question or none, within their own bounds", () => {
  const head = fc.constant(packet("a").subarray(0, 12));
  const some = fc.uint8Array({ maxLength: 600 });
  fc.assert(
    fc.property(
      fc.oneof(
        some,
        fc.tuple(head, some).map(([a, b]) => Buffer.concat([a, b])),
      ),
      (bytes) => {
        const question = readQuestion(Buffer.from(bytes));
        if (question === undefined) return;
        expect(question.name.length).toBeLessThanOrEqual(255);
        expect(question.bytes.length).toBeLessThanOrEqual(bytes.length);
      },
    ),
  );
});
