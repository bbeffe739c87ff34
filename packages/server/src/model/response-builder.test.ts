import fc from "fast-check";
import { expect, test } from "vitest";
import type { ModelObserver } from "../core/ports/model.ts";
import { ResponseBuilder, StreamError } from "./response-builder.ts";

const QUIET: ModelObserver = { blockStarted: () => undefined, textDelta: () => undefined };

const START = { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } };

test("events of any shape make a response or a stream error, nothing else", () => {
  const type = fc.constantFrom(
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "new_event",
  );
  const part = fc.oneof(
    fc.jsonValue(),
    fc.record({
      type: fc.constantFrom("text", "thinking", "tool_use", "text_delta", "input_json_delta", 1),
      text: fc.oneof(fc.string(), fc.integer()),
      partial_json: fc.oneof(fc.string(), fc.constant(null)),
      stop_reason: fc.oneof(fc.string(), fc.constant(null), fc.integer()),
    }),
  );
  const event = fc.record(
    {
      type,
      index: fc.oneof(fc.nat(3), fc.jsonValue()),
      content_block: part,
      delta: part,
      message: part,
      usage: part,
    },
    { requiredKeys: ["type"] },
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(event, fc.jsonValue())), (events) => {
      const builder = new ResponseBuilder(QUIET);
      try {
        for (const it of events) builder.take(it);
        const { blocks } = builder.finish();
        for (const block of blocks) expect(typeof block.type).toBe("string");
      } catch (error) {
        expect(error).toBeInstanceOf(StreamError);
      }
    }),
  );
});

test.each([
  ["a delta for a block that was never started", [{ type: "content_block_delta", index: 0 }]],
  ["a block that starts twice", [START, START]],
  ["a block without a type", [{ ...START, content_block: {} }]],
  ["a block without an index", [{ ...START, index: "0" }]],
])("refuses %s", (_, events) => {
  const builder = new ResponseBuilder(QUIET);
  expect(() => events.map((event) => builder.take(event))).toThrow(StreamError);
});

test("keeps blocks and fields that it does not know", () => {
  const builder = new ResponseBuilder(QUIET);
  const block = { type: "new_block", payload: { deep: [1] } };
  builder.take({ type: "content_block_start", index: 0, content_block: block });
  builder.take({ type: "content_block_delta", index: 0, delta: { type: "new_delta" } });
  builder.take({ type: "message_stop" });
  expect(builder.finish().blocks).toEqual([block]);
});

test("collects the citations of a text", () => {
  const builder = new ResponseBuilder(QUIET);
  builder.take({ ...START, content_block: { type: "text", text: "a", citations: null } });
  for (const citation of [{ cited_text: "x" }, { cited_text: "y" }]) {
    builder.take({
      type: "content_block_delta",
      index: 0,
      delta: { type: "citations_delta", citation },
    });
  }
  builder.take({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "b" } });
  builder.take({ type: "message_stop" });
  expect(builder.finish().blocks).toEqual([
    { type: "text", text: "ab", citations: [{ cited_text: "x" }, { cited_text: "y" }] },
  ]);
});
