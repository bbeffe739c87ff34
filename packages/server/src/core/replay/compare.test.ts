import { expect, test } from "vitest";
import { text, thinking, toolUse } from "../../testing/logs.ts";
import { compareResponses } from "./compare.ts";

const call = (name: string, input: object) => ({ type: "tool_use", id: "x", name, input });

test("thinking, ids and the order of arguments make no difference", () => {
  const recorded = [thinking("a"), text("Hello."), call("bash", { a: 1, b: { c: [1], d: 2 } })];
  const replayed = [text("Hello."), { ...call("bash", { b: { d: 2, c: [1] }, a: 1 }), id: "y" }];
  expect(compareResponses(recorded, replayed)).toMatchObject({
    same: true,
    text: { same: true, similarity: 1 },
    tool_calls: { same: true, same_names: true },
  });
});

test.each([
  [
    "another input",
    [call("bash", { a: 1 })],
    [call("bash", { a: 2 })],
    { same: false, same_names: true },
  ],
  ["another tool", [call("bash", {})], [call("read", {})], { same: false, same_names: false }],
  ["one more", [toolUse("a")], [toolUse("a"), toolUse("b")], { same: false, same_names: false }],
  [
    "another order",
    [call("a", {}), call("b", {})],
    [call("b", {}), call("a", {})],
    { same: false, same_names: false },
  ],
  ["none", [toolUse("a")], [], { same: false, same_names: false }],
])("calls differ by %s", (_what, recorded, replayed, expected) => {
  const comparison = compareResponses(recorded, replayed);
  expect([comparison.same, comparison.tool_calls]).toMatchObject([false, expected]);
});

test("texts are as alike as the words they share", () => {
  const similarity = (left: string, right: string) =>
    compareResponses([text(left)], [text(right)]).text.similarity;
  expect(similarity("the cat sat", "The cat sat!")).toBe(1);
  expect(similarity("the cat sat", "the dog ran")).toBe(0.333);
  expect(similarity("a a a b", "a c")).toBe(0.333);
  expect(similarity("yes", "no")).toBe(0);
  expect(similarity("", "no")).toBe(0);
  expect(similarity("?", "!")).toBe(1);
});

test("what is shown is bounded, what is compared is not", () => {
  const long = "x".repeat(10_000);
  const comparison = compareResponses(
    [text(long), call("a", { long })],
    [text(`${long}y`), call("a", { long: `${long}y` })],
  );
  expect([comparison.text.same, comparison.tool_calls.same]).toEqual([false, false]);
  expect(comparison.text.recorded.length).toBe(4_001);
  expect(comparison.tool_calls.recorded[0]?.input.length).toBe(4_001);
  const deep = JSON.parse(`${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`);
  expect(compareResponses([call("a", deep)], [call("a", deep)]).same).toBe(true);
});
