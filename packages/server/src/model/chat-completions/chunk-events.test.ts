import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ResponseBuilder, StreamError } from "../response-builder.ts";
import { ChunkEvents } from "./chunk-events.ts";

/** The response that comes of these chunks, all of them shapes that servers were seen to send. */
function responseOf(chunks: readonly unknown[], sawDone = true) {
  const builder = new ResponseBuilder({
    blockStarted: () => undefined,
    textDelta: () => undefined,
  });
  const events = new ChunkEvents((name) => name);
  for (const chunk of chunks) for (const event of events.take(chunk)) builder.take(event);
  for (const event of events.end({ sawDone })) builder.take(event);
  return builder.finish();
}

const delta = (fields: object, finish: unknown = null) => ({
  choices: [{ index: 0, delta: fields, finish_reason: finish }],
});
const calls = (...pieces: readonly object[]) => delta({ tool_calls: pieces });
const named = (name: string, input: unknown, more: object = {}) => ({
  ...more,
  function: { name, arguments: input },
});

describe("tool calls", () => {
  const A = { type: "tool_use", name: "f", input: { a: 1 } };
  const B = { type: "tool_use", name: "f", input: { b: 2 } };

  test.each<[string, readonly object[]]>([
    ["whole, without number or id", [calls(named("f", '{"a":1}'), named("f", '{"b":2}'))]],
    [
      "all of one number, with ids",
      [
        calls(
          named("f", '{"a":', { index: 0, id: "x" }),
          named("f", '{"b":2}', { index: 0, id: "y" }),
        ),
        calls({ index: 0, id: "x", function: { arguments: "" } }),
        calls({ id: "x", function: { arguments: "1}" } }),
      ],
    ],
    [
      "all of one number, without ids",
      [calls(named("f", '{"a":1}', { index: 0 })), calls(named("f", '{"b":2}', { index: 0 }))],
    ],
    [
      "with the name in every piece",
      [
        calls(named("f", "", {})),
        calls(named("f", '{"a"', {})),
        calls(named("f", ":1}", {})),
        calls(named("f", '{"b":2}', {})),
      ],
    ],
    [
      "numbered from one, in pieces that alternate",
      [
        calls(named("f", '{"a"', { index: 1 }), named("f", '{"b"', { index: 2 })),
        calls({ index: 2, function: { arguments: ":2}" } }),
        calls({ index: 1, id: null, function: { name: null, arguments: ":1}" } }),
      ],
    ],
    ["with objects as arguments", [calls(named("f", { a: 1 }), named("f", { b: 2 }))]],
    [
      "with the name after the number",
      [
        calls({ index: 0, id: "x", function: {} }, { index: 1, id: "y", function: {} }),
        calls(named("f", '{"a":1}', { index: 0 }), named("f", '{"b":2}', { index: 1 })),
      ],
    ],
  ])("come %s", (_, chunks) => {
    const { blocks, stop_reason } = responseOf([...chunks, delta({}, "stop")]);
    expect(blocks).toMatchObject([A, B]);
    expect(new Set(blocks.map((block) => block["id"])).size).toBe(2);
    expect(stop_reason).toBe("tool_use");
  });

  test("are put together from any pieces of what a numbering server sends", () => {
    const inputs = fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { maxLength: 4 });
    fc.assert(
      fc.property(inputs, fc.integer({ min: 1, max: 9 }), (wanted, size) => {
        const chunks = wanted.flatMap((input, index) => {
          const json = JSON.stringify(input);
          const pieces = Array.from({ length: Math.ceil(json.length / size) }, (_, at) =>
            calls({ index, function: { arguments: json.slice(at * size, (at + 1) * size) } }),
          );
          return [calls(named("f", "", { index, id: `call_${index}` })), ...pieces];
        });
        const { blocks } = responseOf([...chunks, delta({}, "tool_calls")]);
        expect(blocks.map((block) => block["input"])).toEqual(
          wanted.map((input) => JSON.parse(JSON.stringify(input))),
        );
        expect(blocks.map((block) => block["id"])).toEqual(wanted.map((_, at) => `call_${at}`));
      }),
    );
  });

  test("with arguments that are no JSON are told with an empty input and what came", () => {
    const response = responseOf([calls(named("f", '{"a": oops')), delta({}, "tool_calls")]);
    expect(response).toMatchObject({
      blocks: [{ name: "f", input: {} }],
      unreadable_inputs: [{ index: 0, text: '{"a": oops' }],
    });
  });

  test("that never end are cut off", () => {
    const many = Array.from({ length: 1_001 }, (_, index) => named("f", "{}", { index }));
    expect(() => responseOf([calls(...many)])).toThrow("more than 1000 tool calls");
  });
});

describe("the end", () => {
  test.each<[string, unknown, boolean, string]>([
    ["stop", "stop", true, "end_turn"],
    ["no reason, but [DONE]", null, true, "end_turn"],
    ["a reason, and no [DONE]", "stop", false, "end_turn"],
    ["an empty reason and [DONE]", "", true, "end_turn"],
    ["length", "length", false, "max_tokens"],
    ["another name for it", "model_length", true, "max_tokens"],
    ["a filter", "content_filter", true, "refusal"],
  ])("with %s", (_, finish, sawDone, expected) => {
    const chunks = [delta({ content: "a" }), delta({}, finish)];
    expect(responseOf(chunks, sawDone).stop_reason).toBe(expected);
  });

  test("without a reason and without [DONE] is early", () => {
    expect(() => responseOf([delta({ content: "a" })], false)).toThrow(StreamError);
  });

  test.each(["error", "abort", "insufficient_system_resource"])("with %s is none", (finish) => {
    expect(() => responseOf([delta({ content: "a" }, finish)])).toThrow(StreamError);
  });

  test("a refusal that is told in words is a refusal, whatever the reason", () => {
    const response = responseOf([
      delta({ refusal: "I will " }),
      delta({ refusal: "not." }, "stop"),
    ]);
    expect(response).toMatchObject({
      blocks: [{ type: "text", text: "I will not." }],
      stop_reason: "refusal",
      stop_details: { type: "refusal", explanation: "I will not." },
    });
  });
});

test("thinking between texts keeps its place", () => {
  const { blocks } = responseOf([
    delta({ reasoning: "one" }),
    delta({ content: "two" }),
    delta({ content: null, reasoning_content: "three" }),
    delta({ content: "four" }, "stop"),
  ]);
  expect(blocks).toMatchObject([
    { type: "thinking", thinking: "one" },
    { type: "text", text: "two" },
    { type: "thinking", thinking: "three" },
    { type: "text", text: "four" },
  ]);
});

test("a response has the name that its first chunk gives it", () => {
  const events = new ChunkEvents((name) => name);
  expect(events.id).toBeUndefined();
  for (const id of [null, "chatcmpl-1", "chatcmpl-2"]) events.take({ id, choices: [] });
  expect(events.id).toBe("chatcmpl-1");
});

test("an error that stands where a chunk should is told", () => {
  expect(() => responseOf([{ object: "error", message: "out of memory", code: 500 }])).toThrow(
    "The model's server gave up: out of memory",
  );
});

test("whatever JSON comes, the outcome is a response or a broken stream", () => {
  const piece = fc.oneof(fc.jsonValue(), fc.record({ choices: fc.jsonValue() }));
  const deltas = fc.record({ content: fc.jsonValue(), tool_calls: fc.jsonValue() });
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          piece,
          deltas.map((it) => delta(it)),
        ),
      ),
      (chunks) => {
        try {
          expect(Array.isArray(responseOf(chunks).blocks)).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(StreamError);
        }
      },
    ),
  );
});
