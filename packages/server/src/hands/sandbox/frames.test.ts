import fc from "fast-check";
import { expect, test } from "vitest";
import { encodeFrame, type Frame, FrameReader } from "./frames.ts";

const frame = fc.record({
  id: fc.nat(0xffffffff),
  op: fc.constantFrom("h", "o", "r", "e"),
  fields: fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 5 }),
});

test("gives the frames that were sent, however the stream is cut", () => {
  fc.assert(
    fc.property(
      fc.array(frame, { maxLength: 8 }),
      fc.array(fc.integer({ min: 1, max: 40 })),
      (sent, cuts) => {
        const stream = Buffer.concat(sent.map(({ id, op, fields }) => encodeFrame(id, op, fields)));
        const reader = new FrameReader();
        const received: Frame[] = [];
        let at = 0;
        for (const size of [...cuts, stream.byteLength]) {
          received.push(...reader.push(stream.subarray(at, at + size)));
          at += size;
        }
        const plain = received.map(({ id, op, fields }) => ({
          id,
          op,
          fields: fields.map((f) => [...f]),
        }));
        expect(plain).toEqual(
          sent.map((f) => ({ ...f, fields: f.fields.map((bytes) => [...bytes]) })),
        );
      },
    ),
  );
});

test("takes any bytes without hanging or growing, and refuses what cannot be a frame", () => {
  expect(() => new FrameReader().push(Buffer.from("ffffffff", "hex"))).toThrow("a frame of");
  expect(() => new FrameReader().push(Buffer.from("00000001ff", "hex"))).toThrow("a frame of");
  const cut = Buffer.from("0000000a0000000172000000ff00", "hex");
  expect(() => new FrameReader().push(cut)).toThrow("cut frame");
  expect(new FrameReader().push(Buffer.from("000000", "hex"))).toEqual([]);
});
