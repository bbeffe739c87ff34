import { expect, test } from "vitest";
import type { ModelBlock, ModelMessage } from "../ports/model.ts";
import { withUsableCallIds } from "./call-ids.ts";

const use = (id: string): ModelBlock => ({ type: "tool_use", id, name: "bash", input: {} });
const result = (id: string): ModelBlock => ({ type: "tool_result", tool_use_id: id });
const round = (...ids: string[]): ModelMessage[] => [
  { role: "assistant", content: ids.map(use) },
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
  expect(withUsableCallIds(messages)).toEqual(messages);
});

test("an id that comes again is numbered, in the use and in its result", () => {
  const messages = withUsableCallIds([...round("call_0", "call_1"), ...round("call_0", "call_2")]);
  expect(idsOf(messages)).toEqual([
    ["call_0", "call_1"],
    ["call_0", "call_1"],
    ["call_0_2", "call_2"],
    ["call_0_2", "call_2"],
  ]);
});

test("a number that is taken as well is passed over", () => {
  const messages = withUsableCallIds([...round("a", "a_2"), ...round("a")]);
  expect(idsOf(messages).at(-1)).toEqual(["a_3"]);
});

test("characters that the API refuses are replaced, also where two ids become one by it", () => {
  const messages = withUsableCallIds(round("call:1", "call.1", ""));
  expect(idsOf(messages)).toEqual([
    ["call_1", "call_1_1", "toolu"],
    ["call_1", "call_1_1", "toolu"],
  ]);
});

test("a conversation that grows keeps the ids it had", () => {
  const rounds = Array.from({ length: 6 }, () => round("0", "x:y")).flat();
  const whole = withUsableCallIds(rounds);
  for (let length = 0; length <= rounds.length; length += 2) {
    expect(withUsableCallIds(rounds.slice(0, length))).toEqual(whole.slice(0, length));
  }
});
