import { expect, test } from "vitest";
import { isBlankText } from "./blank-text.ts";

test.each(["", " \t\r\n", "\u00a0\u2003\u3000", "\u001c\u001f", "\u0085", "\u2028 \u001e"])(
  "%j is blank",
  (text) => expect(isBlankText(text)).toBe(true),
);

test.each(["a", " a ", "\u0001", "\u200b", "\u001ca", "💣"])("%j is not blank", (text) =>
  expect(isBlankText(text)).toBe(false),
);
