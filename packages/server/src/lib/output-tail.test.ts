import { expect, test } from "vitest";
import { OutputTail } from "./output-tail.ts";

test("gives what was written, by offset", () => {
  const tail = new OutputTail(100);
  write(tail, "hello ");
  write(tail, "world");
  expect(read(tail, 0)).toEqual({ text: "hello world", start: 0, total: 11 });
  expect(read(tail, 6)).toEqual({ text: "world", start: 6, total: 11 });
  expect(read(tail, 11)).toEqual({ text: "", start: 11, total: 11 });
  expect(read(tail, 99)).toEqual({ text: "", start: 11, total: 11 });
});

test("says where it starts when older bytes are gone", () => {
  const tail = new OutputTail(4);
  for (const letter of "abcdefgh") write(tail, letter);
  expect(read(tail, 0)).toEqual({ text: "efgh", start: 4, total: 8 });
  expect(read(tail, 6)).toEqual({ text: "gh", start: 6, total: 8 });
});

test("keeps the end of a chunk that is larger than itself", () => {
  const tail = new OutputTail(4);
  write(tail, "abcdefgh");
  expect(read(tail, 0)).toEqual({ text: "efgh", start: 4, total: 8 });
});

test("gives at most what is asked for", () => {
  const tail = new OutputTail(100);
  write(tail, "abcdefgh");
  expect(read(tail, 2, 3)).toEqual({ text: "cde", start: 2, total: 8 });
});

test("is not changed by what becomes of a chunk afterwards", () => {
  const tail = new OutputTail(100);
  const chunk = Buffer.from("abc");
  tail.append(chunk);
  chunk.fill("x");
  expect(read(tail, 0).text).toBe("abc");
});

function write(tail: OutputTail, text: string): void {
  tail.append(new TextEncoder().encode(text));
}

function read(tail: OutputTail, from: number, limit = 1_000) {
  const { bytes, start, total } = tail.read(from, limit);
  return { text: Buffer.from(bytes).toString(), start, total };
}
