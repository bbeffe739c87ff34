import type { ResultBlock } from "@drover/api";
import fc from "fast-check";
import { expect, test } from "vitest";
import { boundedResult } from "./bounded-result.ts";

const text = (value: string) => ({ type: "text" as const, text: value });
const found = (...parts: string[]): ResultBlock => ({
  type: "search_result",
  source: "https://example.com",
  title: "t",
  content: parts.map(text),
  citations: { enabled: false },
});

test("a result of ordinary length is shown as it is", () => {
  const content = [text("a"), found("b", "c"), text("x".repeat(90_000))];
  expect(boundedResult(content)).toEqual(content);
});

test("of a long text its two ends are shown, and how long it is", () => {
  const long = `begin ${"x".repeat(300_000)} end`;
  const [block] = boundedResult([text(long)]);
  const shown = block?.type === "text" ? block.text : "";
  expect(shown).toMatch(/^begin x+\n\n\[result truncated: 300010 characters\]\n\nx+ end$/);
  expect(shown.length).toBeLessThan(41_000);
});

test("many texts share one bound, wherever they are, and none is lost without a word", () => {
  const part = "x".repeat(30_000);
  const content = [text(part), found(part, part, part), text(part), text(part)];
  const shown = boundedResult(content);
  expect(JSON.stringify(shown).length).toBeLessThan(102_000);
  expect(JSON.stringify(shown).split("result truncated: 30000").length - 1).toBe(3);
});

test("blocks stay in their places, and text stays well formed", () => {
  const image: ResultBlock = { type: "image", source: { type: "url", url: "https://e.com/a" } };
  const block = fc.oneof(
    fc.tuple(fc.constantFrom("a", "\u{1f600}"), fc.nat(120_000)).map(([c, n]) => text(c.repeat(n))),
    fc.constant(image),
    fc.nat(60_000).map((n) => found("y".repeat(n), "z".repeat(n))),
  );
  fc.assert(
    fc.property(fc.array(block, { maxLength: 6 }), (content) => {
      const shown = boundedResult(content);
      expect(shown.map(({ type }) => type)).toEqual(content.map(({ type }) => type));
      const json = JSON.stringify(shown);
      expect(json.length).toBeLessThan(103_000);
      expect(JSON.parse(json)).toEqual(shown);
    }),
    { numRuns: 30 },
  );
});
