import fc from "fast-check";
import { expect, test } from "vitest";
import { putBack, takeOut } from "./large-strings.ts";

test("gives back every JSON value as it was, with no string over the limit in what is left", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (given) => {
      const value: unknown = JSON.parse(JSON.stringify({ given }));
      const { rest, taken } = takeOut(value, 2);
      const stored: unknown = JSON.parse(JSON.stringify(rest));
      expect(takeOut(stored, 2).taken).toEqual([]);
      for (const { path, body } of taken) putBack(stored, path, JSON.parse(body));
      expect(JSON.stringify(stored)).toBe(JSON.stringify(value));
    }),
  );
});

test("gives the same string the same hash, wherever it is", () => {
  const { taken } = takeOut({ a: "long", b: ["long", "longer"] }, 3);
  const hashes = taken.map(({ sha256 }) => sha256);
  expect(taken.map(({ path }) => path)).toEqual([["a"], ["b", 0], ["b", 1]]);
  expect(hashes[0]).toBe(hashes[1]);
  expect(hashes[0]).not.toBe(hashes[2]);
});

test("handles a key that names the prototype as any other", () => {
  const value: unknown = JSON.parse('{"__proto__":{"a":"long"}}');
  const { rest, taken } = takeOut(value, 3);
  expect(JSON.stringify(rest)).toBe('{"__proto__":{"a":""}}');
  for (const { path } of taken) putBack(rest, path, "back");
  expect(JSON.stringify(rest)).toBe('{"__proto__":{"a":"back"}}');
  expect({}).not.toHaveProperty("a");
});

test("refuses to put a string where none was taken out", () => {
  expect(() => putBack({ a: "text" }, ["a"], "b")).toThrow("a");
  expect(() => putBack({}, ["a", "b"], "c")).toThrow("a.b");
  expect(() => putBack({}, [], "c")).toThrow("no place");
});
