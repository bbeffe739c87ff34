import fc from "fast-check";
import { expect, test } from "vitest";
import { blocksTokens, blockTokens, textTokens } from "./token-estimate.ts";

const bytes = (text: string) => new TextEncoder().encode(text).length;

test("a text has a third of its bytes in UTF-8, whatever is in it", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (value) => {
      const text = value.toWellFormed();
      expect(textTokens(text)).toBe(Math.ceil(bytes(text) / 3));
    }),
  );
  expect(textTokens("漢字")).toBe(2);
  expect(textTokens("👍")).toBe(2);
});

test("more blocks are never fewer tokens, and a result has those of its content", () => {
  const block = fc.string().map((text) => ({ type: "text", text }));
  fc.assert(
    fc.property(fc.array(block), block, (blocks, more) => {
      expect(blocksTokens([...blocks, more])).toBeGreaterThan(blocksTokens(blocks));
      const result = { type: "tool_result", tool_use_id: "1", content: blocks };
      expect(blockTokens(result)).toBeGreaterThanOrEqual(blocksTokens(blocks));
    }),
  );
});

test("images and documents count by what they are and not by their base64", () => {
  const data = "A".repeat(80_000);
  const source = { type: "base64", data };
  expect(blockTokens({ type: "image", source } as { type: string })).toBeLessThan(2_000);
  expect(blockTokens({ type: "document", source } as { type: string })).toBe(10_004);
  const plain = { type: "text", data: "a".repeat(3_000) };
  expect(blockTokens({ type: "document", source: plain } as { type: string })).toBeGreaterThan(999);
});
