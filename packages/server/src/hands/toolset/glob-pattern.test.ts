import fc from "fast-check";
import { expect, test } from "vitest";
import { globMatcher } from "./glob-pattern.ts";

test.each([
  ["*.ts", "a.ts", true],
  ["*.ts", "a/b.ts", false],
  ["*.ts", ".hidden.ts", true],
  ["**/*.ts", "a.ts", true],
  ["**/*.ts", "a/b/c.ts", true],
  ["**", "a/b", true],
  ["a/**", "a/b/c", true],
  ["a/**/z", "a/z", true],
  ["a/**/m/**/z", "a/b/m/c/d/z", true],
  ["a/**/m/**/z", "a/b/z", false],
  ["./src/*", "src/x", true],
  ["src//x", "src/x", true],
  ["?.c", "a.c", true],
  ["?.c", "ab.c", false],
  ["?", "😀", true],
  ["[ab]x", "bx", true],
  ["[!ab]x", "bx", false],
  ["[^ab]x", "cx", true],
  ["[a-c]x", "bx", true],
  ["[]x]", "]", true],
  ["[x", "[x", true],
  ["\\*", "*", true],
  ["\\*", "a", false],
  ["{a,b}.js", "b.js", true],
  ["{a,b{c,d}}/x", "bd/x", true],
  ["{src,test}/**/*.{ts,tsx}", "test/a/b.tsx", true],
  ["{a}", "{a}", true],
  ["{a", "{a", true],
  ["a*b*c", "aXbYc", true],
  ["a*b*c", "aXbY", false],
  ["x**y", "xaay", true],
  ["$&.(a|b)", "$&.(a|b)", true],
])("%j on %j is %j", (pattern, path, expected) => {
  expect(globMatcher(pattern)?.(path)).toBe(expected);
});

test("refuses what would expand without bound", () => {
  expect(globMatcher("{a,b}".repeat(9))).toBe(undefined);
  expect(globMatcher("{a,b}".repeat(8))?.("abababab")).toBe(true);
  expect(globMatcher("a".repeat(1001))).toBe(undefined);
});

test("needs no exponential time for patterns made to need it", () => {
  const matches = globMatcher(`${"*a".repeat(200)}b`);
  expect(matches?.("a".repeat(4000))).toBe(false);
  const deep = globMatcher(`${"**/a/".repeat(100)}b`);
  expect(deep?.("a/".repeat(1000))).toBe(false);
});

test("matches any path by itself, escaped, and never throws", () => {
  const name = fc.string({ minLength: 1, maxLength: 20 }).map((text) => text.replaceAll("/", "_"));
  fc.assert(
    fc.property(fc.array(name, { minLength: 1, maxLength: 4 }), (segments) => {
      fc.pre(segments.every((segment) => segment !== "." && segment !== "**"));
      const path = segments.join("/");
      const escaped = [...path].map((c) => (c === "/" ? c : `\\${c}`)).join("");
      fc.pre(!/[{},]/.test(path));
      expect(globMatcher(escaped)?.(path)).toBe(true);
      expect(typeof globMatcher(path)?.(path)).toBe("boolean");
    }),
  );
});
