import { expect, test } from "vitest";
import type { ModelBlock, ModelMessage } from "../ports/model.ts";
import { withUsableCalls } from "./usable-calls.ts";

const use = (id: string, name = "bash"): ModelBlock => {
  return { type: "tool_use", id, name, input: {} };
};
const result = (id: string): ModelBlock => ({ type: "tool_result", tool_use_id: id });
const round = (...ids: string[]): ModelMessage[] => [
  { role: "assistant", content: ids.map((id) => use(id)) },
  { role: "user", content: ids.map(result) },
];

/** The ids of each message. */
const idsOf = (messages: readonly ModelMessage[]) =>
  messages.map(({ content }) => content.map((block) => block["id"] ?? block["tool_use_id"]));

test("ids that the API takes stay, and so do all other blocks", () => {
  const messages: ModelMessage[] = [
    { role: "user", content: [{ type: "text", text: "go" }] },
    ...round("toolu_1", "toolu-2"),
  ];
  expect(withUsableCalls(messages)).toEqual(messages);
});

test("an id that comes again is numbered, in the use and in its result", () => {
  const messages = withUsableCalls([...round("call_0", "call_1"), ...round("call_0", "call_2")]);
  expect(idsOf(messages)).toEqual([
    ["call_0", "call_1"],
    ["call_0", "call_1"],
    ["call_0_2", "call_2"],
    ["call_0_2", "call_2"],
  ]);
});

test("a number that is taken as well is passed over", () => {
  const messages = withUsableCalls([...round("a", "a_2"), ...round("a")]);
  expect(idsOf(messages).at(-1)).toEqual(["a_3"]);
});

test("characters that the API refuses are replaced, also where two ids become one by it", () => {
  const messages = withUsableCalls(round("call:1", "call.1", ""));
  expect(idsOf(messages)).toEqual([
    ["call_1", "call_1_1", "toolu"],
    ["call_1", "call_1_1", "toolu"],
  ]);
});

test("a conversation that grows keeps the ids it had", () => {
  const rounds = Array.from({ length: 6 }, () => round("0", "x:y")).flat();
  const whole = withUsableCalls(rounds);
  for (let length = 0; length <= rounds.length; length += 2) {
    expect(withUsableCalls(rounds.slice(0, length))).toEqual(whole.slice(0, length));
  }
});

test("a tool's name is never longer than the API takes, and never empty", () => {
  const messages: ModelMessage[] = [
    {
      role: "assistant",
      content: [use("1", "n".repeat(500)), use("2", ""), use("3", "💣".repeat(150))],
    },
  ];
  const names = withUsableCalls(messages)[0]?.content.map((block) => block["name"]);
  expect(names).toEqual(["n".repeat(200), "unnamed", "💣".repeat(100)]);
});
