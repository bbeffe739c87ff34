import fc from "fast-check";
import { expect, test } from "vitest";
import type { ModelBlock, ModelMessage, ModelRequest } from "../ports/model.ts";
import { withCacheMarks } from "./cache-marks.ts";

const text = (value: string): ModelBlock => ({ type: "text", text: value });
const block = fc.oneof(
  fc.string({ minLength: 1 }).map(text),
  fc.string().map((id): ModelBlock => ({ type: "tool_result", tool_use_id: id })),
);
const turn = fc
  .tuple(fc.array(block, { minLength: 1, maxLength: 30 }), fc.array(block, { minLength: 1 }))
  .map(([user, assistant]): ModelMessage[] => [
    { role: "user", content: user },
    { role: "assistant", content: assistant },
  ]);
const conversation = fc.array(turn, { minLength: 1, maxLength: 6 }).map((turns) => turns.flat());

const request = (messages: readonly ModelMessage[]): ModelRequest => ({
  model: "m",
  max_tokens: 1,
  messages,
  system: [text("one"), text("two")],
  tools: ["a", "b"].map((name) => ({ name, description: "", input_schema: { type: "object" } })),
});

const marksIn = (value: unknown) => JSON.stringify(value).split('"cache_control"').length - 1;
const unmarked = (value: unknown) => {
  return JSON.parse(JSON.stringify(value), (key, item) =>
    key === "cache_control" ? undefined : item,
  );
};

test("there are four marks at most, and without them the request is what it was", () => {
  fc.assert(
    fc.property(conversation, (messages) => {
      const plain = request(messages);
      const marked = withCacheMarks(plain);
      expect(marksIn(marked)).toBeLessThanOrEqual(4);
      expect(unmarked(marked)).toEqual(plain);
    }),
  );
});

test("the end of what was sent before is marked again by the next request", () => {
  fc.assert(
    fc.property(conversation, turn, (messages, more) => {
      const before = messages.slice(0, -1);
      const after = [...messages, ...more.slice(0, 1)];
      const last = before.length - 1;
      const marks = (list: readonly ModelMessage[]) =>
        withCacheMarks(request(list)).messages.map((message) => marksIn(message) > 0);
      expect(marks(before)[last]).toBe(true);
      expect(marks(after)[last]).toBe(true);
      expect(marks(after).at(-1)).toBe(true);
    }),
  );
});

test("a message that ends in thinking takes no mark, nor does nothing", () => {
  const messages: ModelMessage[] = [{ role: "user", content: [{ type: "thinking" }] }];
  const marked = withCacheMarks({ ...request(messages), system: [], tools: [] });
  expect(marksIn(marked)).toBe(0);
});
