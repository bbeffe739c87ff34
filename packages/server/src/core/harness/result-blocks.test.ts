import { describe, expect, test } from "vitest";
import { committed, testDrafting } from "../../testing/logs.ts";
import { draft } from "./drafting.ts";
import { callAnswers, resultBlock } from "./result-blocks.ts";

const text = (value: string) => ({ type: "text" as const, text: value });
const IMAGE = {
  type: "image" as const,
  source: { type: "url" as const, url: "https://example.com/a.png" },
};
const base = { type: "tool_result", tool_use_id: "toolu_1" };

describe("the block that answers a tool use", () => {
  test.each([
    ["words", [text("a"), text("b")], false, { ...base, content: [text("a"), text("b")] }],
    ["a picture", [IMAGE], false, { ...base, content: [IMAGE] }],
    ["nothing", [], false, base],
    ["blank words", [text(" \n")], false, base],
    ["an error", [text("no")], true, { ...base, content: [text("no")], is_error: true }],
    [
      "an error without a word",
      [],
      true,
      { ...base, content: [text("(no output)")], is_error: true },
    ],
    [
      "an error with a picture, which no error may hold",
      [text("see"), IMAGE],
      true,
      { ...base, content: [text("The tool reported an error."), text("see"), IMAGE] },
    ],
  ])("holds %s", (_, content, isError, block) => {
    expect(resultBlock("toolu_1", { content, isError })).toEqual(block);
  });

  test("says so where there is no answer, in a log that was cut off", () => {
    expect(resultBlock("toolu_1", undefined)).toMatchObject({ ...base, is_error: true });
  });
});

test("a call is answered by whoever ran it, and of two answers the first counts", () => {
  const drafting = testDrafting();
  const own = (said: string) =>
    draft(drafting, "agent.tool_result", {
      public: { tool_use_id: "sevt_a", content: [text(said)], is_error: false },
      private: { reason: "executed" },
    });
  const clients = (said: string) =>
    draft(drafting, "user.custom_tool_result", {
      public: { custom_tool_use_id: "sevt_b", content: [text(said)] },
      private: {},
    });
  const answers = callAnswers(
    committed([own("one"), clients("two"), own("three"), clients("four")]),
  );
  expect(Object.fromEntries(answers)).toEqual({
    sevt_a: { content: [text("one")], isError: false },
    sevt_b: { content: [text("two")], isError: false },
  });
});
