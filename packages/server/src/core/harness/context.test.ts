import { describe, expect, test } from "vitest";
import {
  committed,
  compactionBody,
  requestLost,
  responded,
  startedTurn,
  testDrafting,
  text,
  thinking,
  toolUse,
  userMessage,
} from "../../testing/logs.ts";
import type { EventDraft } from "../session/log-event.ts";
import { contextMessages } from "./context.ts";
import { draft } from "./drafting.ts";
import { interruptedResult } from "./results.ts";

const messages = (drafts: readonly EventDraft[]) => contextMessages(committed(drafts));

const result = (callId: string, value: string): EventDraft =>
  draft(testDrafting(), "agent.tool_result", {
    public: { tool_use_id: callId, content: [{ type: "text", text: value }], is_error: false },
    private: { reason: "executed" },
  });

describe("contextMessages", () => {
  test("a result that is an error and says nothing visible is sent with a word", () => {
    const drafting = testDrafting();
    const log = [...startedTurn(drafting), ...responded(drafting, [toolUse("toolu_1", "bash")])];
    const callId = log.find(({ type }) => type === "agent.tool_use")?.id ?? "";
    const failed = draft(drafting, "agent.tool_result", {
      public: { tool_use_id: callId, content: [{ type: "text", text: " \n" }], is_error: true },
      private: { reason: "executed" },
    });
    expect(messages([...log, failed]).at(-1)?.content).toEqual([
      {
        type: "tool_result",
        tool_use_id: "toolu_1",
        content: [text("(no output)")],
        is_error: true,
      },
    ]);
  });

  test("sends thinking back byte for byte and in its place", () => {
    const drafting = testDrafting();
    const signed = { ...thinking("odd \0 text \ud800"), extra: [1, { deep: "\ud800" }] };
    const blocks = [signed, text("answer"), toolUse("toolu_1", "read")];
    const log = [...startedTurn(drafting), ...responded(drafting, blocks)];
    const assistant = messages(log).find(({ role }) => role === "assistant");
    expect(assistant?.content).toEqual(blocks);
    expect(assistant?.content[0]).toBe(signed);
  });

  test("puts results directly after their calls and in the calls' order", () => {
    const drafting = testDrafting();
    const log = [
      ...startedTurn(drafting),
      ...responded(drafting, [toolUse("toolu_1", "read"), toolUse("toolu_2", "read")]),
    ];
    const [first = "", second = ""] = log
      .filter(({ type }) => type === "agent.tool_use")
      .map(({ id }) => id);
    const answered = [
      ...log,
      result(second, "two"),
      result(first, "one"),
      userMessage(drafting, "go on"),
    ];
    expect(messages(answered).at(-1)).toEqual({
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "toolu_1", content: [text("one")] },
        { type: "tool_result", tool_use_id: "toolu_2", content: [text("two")] },
        text("go on"),
      ],
    });
  });

  test("answers a call whose result is not in the log, and takes only the first of two results", () => {
    const drafting = testDrafting();
    const log = [...startedTurn(drafting), ...responded(drafting, [toolUse("toolu_1", "read")])];
    const callId = log.find(({ type }) => type === "agent.tool_use")?.id ?? "";
    expect(messages(log).at(-1)?.content).toMatchObject([
      { type: "tool_result", tool_use_id: "toolu_1", is_error: true },
    ]);
    const twice = [
      ...log,
      interruptedResult(drafting, { id: callId, kind: "hands" }),
      result(callId, "late"),
    ];
    expect(messages(twice).at(-1)?.content).toMatchObject([{ is_error: true }]);
    expect(messages(twice).at(-1)?.content).toHaveLength(1);
  });

  test("leaves out a response that was cut, and merges the input around it", () => {
    const drafting = testDrafting();
    const cut = responded(drafting, [text("half")]).slice(0, -1);
    const log = [
      ...startedTurn(drafting, "one"),
      ...cut,
      requestLost(drafting),
      userMessage(drafting, "two"),
    ];
    expect(messages(log)).toEqual([{ role: "user", content: [text("one"), text("two")] }]);
  });

  test("leaves out blank text and a message that would end in thinking", () => {
    const drafting = testDrafting();
    const log = [
      ...startedTurn(drafting),
      ...responded(drafting, [thinking("hm"), text("  \n"), toolUse("a"), text("")]),
      userMessage(drafting, "well?"),
    ];
    expect(messages(log).map(({ content }) => content.map(({ type }) => type))).toEqual([
      ["text"],
      ["thinking", "tool_use"],
      ["tool_result", "text"],
    ]);
    const silent = [...startedTurn(drafting), ...responded(drafting, [thinking("hm")])];
    expect(messages(silent).map(({ role }) => role)).toEqual(["user"]);
  });

  test("tells a model whose answer brought nothing to go on, in every later request alike", () => {
    const drafting = testDrafting();
    const empty = [...startedTurn(drafting), ...responded(drafting, [thinking("hm")])];
    const [told] = messages(empty);
    expect(told?.content).toEqual([text("hello"), text(expect.stringMatching(/was empty/))]);
    const [later] = messages([...empty, userMessage(drafting, "well?")]);
    expect(later?.content.slice(0, 2)).toEqual(told?.content);
  });

  test("begins at the last compaction", () => {
    const drafting = testDrafting();
    const before = [...startedTurn(drafting), ...responded(drafting, [text("long story")])];
    const log = [
      ...before,
      draft(drafting, "agent.thread_context_compacted", {
        public: {},
        private: compactionBody({ summary: [text("a summary")], kept_from: before.length + 1 }),
      }),
      userMessage(drafting, "go on"),
    ];
    expect(messages(log)).toEqual([{ role: "user", content: [text("a summary"), text("go on")] }]);
  });

  test("replaces NUL bytes and lone surrogates in what is not signed", () => {
    const drafting = testDrafting();
    const log = [
      ...startedTurn(drafting, "a\0b\ud800"),
      ...responded(drafting, [{ ...toolUse("toolu_1"), input: { command: "\udc00" } }]),
    ];
    const [user, assistant] = messages(log);
    expect(user?.content).toEqual([text("a\uFFFDb\uFFFD")]);
    expect(assistant?.content).toMatchObject([{ input: { command: "\uFFFD" } }]);
  });
});
