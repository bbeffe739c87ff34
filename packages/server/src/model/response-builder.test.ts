import fc from "fast-check";
import { describe, expect, test } from "vitest";
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

describe("usage", () => {
  const start = (usage: unknown) => ({ type: "message_start", message: { usage } });
  const delta = (usage: unknown) => ({ type: "message_delta", delta: {}, usage });

  test.each<[string, readonly unknown[], unknown]>([
    [
      "is what was told last, and not the sum",
      [
        start({ input_tokens: 25, output_tokens: 1 }),
        delta({ output_tokens: 15 }),
        delta({ output_tokens: 40 }),
      ],
      { input_tokens: 25, output_tokens: 40 },
    ],
    [
      "may be told twice",
      [start({ input_tokens: 25, cache_read_input_tokens: 3 }), delta({ input_tokens: 25 })],
      { input_tokens: 25, cache_read_input_tokens: 3 },
    ],
    [
      "is not taken back by a zero",
      [start({ input_tokens: 25, output_tokens: 1 }), delta({ input_tokens: 0, output_tokens: 9 })],
      { input_tokens: 25, output_tokens: 9 },
    ],
    [
      "may come late",
      [start({ input_tokens: 0 }), delta({ input_tokens: 7 })],
      { input_tokens: 7 },
    ],
    ["is absent where nothing was told", [start(null), delta(undefined)], {}],
    [
      "is no fraction, no text, nothing below zero and nothing that no request can use",
      [
        start({
          input_tokens: 1.5,
          output_tokens: "3",
          cache_read_input_tokens: -1,
          cache_creation_input_tokens: 1e300,
          server_tool_use: { web_search_requests: Number.NaN },
        }),
      ],
      {},
    ],
    [
      "has the parts of what was written to the cache, and the API's own tools",
      [
        start({
          cache_creation_input_tokens: 5,
          cache_creation: { ephemeral_5m_input_tokens: 4, ephemeral_1h_input_tokens: 1 },
        }),
        delta({ server_tool_use: { web_search_requests: 2, web_fetch_requests: 0, other: 1 } }),
      ],
      {
        cache_creation_input_tokens: 5,
        cache_creation: { ephemeral_5m_input_tokens: 4, ephemeral_1h_input_tokens: 1 },
        server_tool_use: { web_search_requests: 2, web_fetch_requests: 0 },
      },
    ],
  ])("%s", (_what, events, expected) => {
    const told: unknown[] = [];
    const builder = new ResponseBuilder({ ...QUIET, usageReported: (usage) => told.push(usage) });
    for (const event of events) builder.take(event);
    expect(builder.usage).toEqual(expected);
    // Whoever gives the request up has heard the same.
    expect(told.at(-1)).toEqual(expected);
  });
});
