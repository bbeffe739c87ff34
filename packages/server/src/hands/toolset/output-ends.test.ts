import fc from "fast-check";
import { expect, test } from "vitest";
import { OutputEnds } from "./output-ends.ts";

test("keeps what fits, whole", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 1000 })), (chunks) => {
      const ends = new OutputEnds();
      for (const chunk of chunks) ends.append(chunk);
      const all = Buffer.concat(chunks);
      expect(ends.whole()?.equals(all)).toBe(true);
      expect(ends.tail().equals(all)).toBe(true);
    }),
  );
});

test("keeps both ends of what does not fit", () => {
  const ends = new OutputEnds();
  let written = "";
  for (let line = 0; line < 300_000; line += 1) {
    const text = `${line}\n`;
    written += text;
    ends.append(Buffer.from(text));
  }
  const [head, tail] = [ends.head().toString(), ends.tail().toString()];
  expect(ends.whole()).toBe(undefined);
  expect(head).toBe(written.slice(0, 400_000));
  expect(written.endsWith(tail) && tail.length >= 400_000 && tail.length <= 800_000).toBe(true);
});
