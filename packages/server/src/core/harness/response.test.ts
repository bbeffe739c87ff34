import { describe, expect, test } from "vitest";
import { responded, testDrafting, testTool, text, thinking, toolUse } from "../../testing/logs.ts";
import type { ModelBlock } from "../ports/model.ts";
import { DEFAULT_POLICIES } from "./policies.ts";
import { responseDrafts } from "./response.ts";

const types = (blocks: readonly ModelBlock[]) =>
  responded(testDrafting(), blocks).map((event) => event.type);

describe("responseDrafts", () => {
  test("makes neighbouring text one message and everything else an event of its own", () => {
    const blocks = [thinking("a"), text("b"), text("c"), toolUse("d"), text("e")];
    const drafts = responded(testDrafting(), blocks);
    expect(drafts.map((event) => event.type)).toEqual([
      "agent.thinking",
      "agent.message",
      "agent.tool_use",
      "agent.message",
      "span.model_request_end",
    ]);
    expect(drafts[1]?.public).toEqual({ content: [text("b"), text("c")] });
  });

  test("ends with the request's end even if the model said nothing", () => {
    expect(types([])).toEqual(["span.model_request_end"]);
    expect(types([text(" \n")])).toEqual(["span.model_request_end"]);
  });

  test("answers a call whose input cannot be read, after the end of the request", () => {
    const drafts = responseDrafts(
      {
        type: "response",
        blocks: [toolUse("a", "read"), { ...toolUse("b", "read"), input: {} }],
        unreadable_inputs: [{ index: 1, text: `{"file_path": ${"x".repeat(1_000)}` }],
        stop_reason: "tool_use",
        usage: {},
        request_id: undefined,
      },
      {
        requestId: "start_1",
        previewId: () => undefined,
        toolOf: testTool,
        goOns: {},
        policies: DEFAULT_POLICIES,
      },
      testDrafting(),
    );
    expect(drafts.map(({ type }) => type)).toEqual([
      "agent.tool_use",
      "agent.tool_use",
      "span.model_request_end",
      "agent.tool_result",
    ]);
    expect(drafts[1]?.public).toEqual({ name: "read", input: {}, evaluated_permission: "deny" });
    expect(drafts[3]).toMatchObject({
      public: { tool_use_id: drafts[1]?.id, is_error: true },
      private: { reason: "unreadable" },
    });
    const said = JSON.stringify(drafts[3]?.public);
    expect(said).toContain("not a JSON object");
    expect(said.length).toBeLessThan(700);
  });

  test("keeps the ids that were previewed", () => {
    const drafts = responseDrafts(
      {
        type: "response",
        blocks: [thinking("a"), text(""), text("b")],
        stop_reason: "end_turn",
        usage: {},
        request_id: "req_1",
      },
      {
        requestId: "start_1",
        previewId: (index) => ["preview_0", "preview_1", "preview_1"][index],
        toolOf: testTool,
        goOns: {},
        policies: DEFAULT_POLICIES,
      },
      testDrafting(),
    );
    expect(drafts.map(({ id }) => id)).toEqual(["preview_0", "preview_1", "sevt_1"]);
  });

  test("refuses a call of a tool that is not offered, without an evaluation", () => {
    const drafts = responded(testDrafting(), [toolUse("a", "forbidden"), toolUse("b", "read")]);
    expect(drafts.map((event) => event.public)).toMatchObject([
      { name: "forbidden", evaluated_permission: "deny" },
      { name: "read", evaluated_permission: "allow", evaluation: { type: "always_allow" } },
      {},
    ]);
    expect(drafts[0]?.public).not.toHaveProperty("evaluation");
  });

  test("gives each call an id of its own where the model repeats or forgets them", () => {
    const blocks = [toolUse("same"), toolUse("same"), { ...toolUse("x"), id: 7 }];
    const drafts = responded(testDrafting(), blocks);
    const ids = drafts.flatMap((event) =>
      event.type === "agent.tool_use" ? event.private.blocks.map(({ block }) => block["id"]) : [],
    );
    expect(new Set(ids).size).toBe(3);
    expect(ids[0]).toBe("same");
  });

  test("runs nothing that a refusing model asked for", () => {
    const drafts = responded(testDrafting(), [text("no"), toolUse("a")], "start_1", "refusal");
    expect(drafts.map((event) => event.type)).toEqual(["agent.message", "span.model_request_end"]);
    expect(drafts.at(-1)?.private).toMatchObject({
      refusal: { type: "refusal", category: null, explanation: null },
    });
  });

  test("bounds and tames what an API says of itself", () => {
    const drafts = responseDrafts(
      {
        type: "response",
        blocks: [],
        stop_reason: "refusal",
        stop_details: {
          type: "refusal",
          category: "c\0".repeat(1_000),
          explanation: "e".repeat(1e6),
        },
        usage: {},
        request_id: "r".repeat(1_000),
      },
      {
        requestId: "start_1",
        previewId: () => undefined,
        toolOf: testTool,
        goOns: {},
        policies: DEFAULT_POLICIES,
      },
      testDrafting(),
    );
    const end = JSON.stringify(drafts.at(-1)?.private);
    expect(end.length).toBeLessThan(12_000);
    expect(end).not.toContain("\\u0000");
  });

  test("takes a tool input that is not an object as an empty one", () => {
    const drafts = responded(testDrafting(), [{ ...toolUse("a"), input: "rm -rf /" }]);
    expect(drafts[0]?.public).toMatchObject({ input: {} });
  });
});
