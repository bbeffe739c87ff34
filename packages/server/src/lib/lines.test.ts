import fc from "fast-check";
import { expect, test } from "vitest";
import { linesOf } from "./lines.ts";

const options = { bytesMax: 16, tooLong: () => new Error("too long") };

async function* cut(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += size) yield bytes.slice(at, at + size);
}

async function read(text: string, size: number): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of linesOf(cut(Buffer.from(text), size), options)) {
    lines.push(Buffer.from(line).toString());
  }
  return lines;
}

test("gives the lines, wherever the pieces end", async () => {
  const line = fc.string({ unit: fc.constantFrom("a", "é", "🙂", "\r"), maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(fc.array(line), fc.integer({ min: 1, max: 9 }), async (lines, size) => {
      const text = lines.map((one) => `${one}\n`).join("");
      expect(await read(text, size)).toEqual(lines);
      expect(await read(`${text}end`, size)).toEqual([...lines, "end"]);
    }),
  );
});

test("holds no more than it may", async () => {
  expect(await read(`${"x".repeat(16)}\n${"y".repeat(16)}`, 5)).toHaveLength(2);
  await expect(read(`a\n${"x".repeat(17)}\n`, 5)).rejects.toThrow("too long");
  await expect(read("x".repeat(17), 100)).rejects.toThrow("too long");
});
