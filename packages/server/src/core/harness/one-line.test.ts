import fc from "fast-check";
import { expect, test } from "vitest";
import { oneLine } from "./one-line.ts";

test.each([
  ["plain", "plain"],
  ["  two\n\n## lines\r\n\ttabbed ", "two ## lines tabbed"],
  ["a\u2028b\u2029c\u0000d\u001b[31me", "a b c d [31me"],
  ["right\u202eto left\u2066", "right to left"],
  ["half \ud83d", "half \ufffd"],
  ["", ""],
])("%j becomes %j", (text, line) => {
  expect(oneLine(text, 100)).toBe(line);
});

test("what is too long is cut between characters, and says so", () => {
  expect(oneLine("abcdef", 4)).toBe("abc…");
  expect(oneLine("ab😀cd", 4)).toBe("ab…");
  expect(oneLine("abcd", 4)).toBe("abcd");
});

test("is one line within the length, whatever comes", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.integer({ min: 1, max: 40 }), (text, max) => {
      const line = oneLine(text, max);
      expect(line.length).toBeLessThanOrEqual(max);
      expect(line.isWellFormed()).toBe(true);
      expect(/[\p{Cc}\p{Zl}\p{Zp}]/u.test(line)).toBe(false);
      expect(oneLine(line, max)).toBe(line);
    }),
  );
});
