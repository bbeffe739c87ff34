import { expect, test } from "vitest";
import { interrupt, testDrafting, userMessage, waiting } from "../../testing/logs.ts";
import { type ContextState, NEW_CONTEXT } from "../session/context-state.ts";
import { IDLE_THREAD } from "../session/state.ts";
import { compactionActions } from "./next-compaction.ts";
import { DEFAULT_POLICIES } from "./policies.ts";
import { type ModelLimits, roomOf } from "./room.ts";

const LIMITS: ModelLimits = {
  windowTokens: 200_000,
  outputTokens: undefined,
  canCount: true,
  fixedTokens: 1_000,
};
const { prompt: PROMPT } = roomOf(DEFAULT_POLICIES, LIMITS, NEW_CONTEXT);

function decided(
  context: Partial<ContextState>,
  { inbox = [], limits = {} }: { inbox?: readonly string[]; limits?: Partial<ModelLimits> } = {},
) {
  const drafting = testDrafting();
  const thread = { ...IDLE_THREAD, pending: true, context: { ...NEW_CONTEXT, ...context } };
  const events = inbox.map((text, n) =>
    waiting(text === "interrupt" ? interrupt(drafting) : userMessage(drafting, text), n),
  );
  const actions = compactionActions(thread, events, DEFAULT_POLICIES, { ...LIMITS, ...limits });
  return actions?.map((action) => (action.kind === "append" ? action.step.type : action.kind));
}

test("the window is shared by the prompt, the response and a reserve", () => {
  expect(roomOf(DEFAULT_POLICIES, LIMITS, NEW_CONTEXT)).toEqual({
    output: 32_000,
    prompt: 158_000,
  });
  const small = { ...LIMITS, windowTokens: 8_000 };
  expect(roomOf(DEFAULT_POLICIES, small, NEW_CONTEXT)).toEqual({ output: 2_000, prompt: 5_600 });
  const brief = { ...LIMITS, outputTokens: 4_000 };
  expect(roomOf(DEFAULT_POLICIES, brief, NEW_CONTEXT).output).toBe(4_000);
  const learned = { ...NEW_CONTEXT, window: 10_000 };
  expect(roomOf(DEFAULT_POLICIES, LIMITS, learned).prompt).toBe(7_000);
  const unknown = { ...LIMITS, windowTokens: undefined };
  expect(roomOf(DEFAULT_POLICIES, unknown, NEW_CONTEXT).prompt).toBe(158_000);
});

test("what fits by the last token needs nothing, one more is counted first", () => {
  expect(decided({ known: PROMPT })).toBeUndefined();
  expect(decided({ known: PROMPT - 10, added: 10 })).toBeUndefined();
  expect(decided({ known: PROMPT - 10, added: 11 })).toEqual(["count_context"]);
  // What stands before the messages is in what an API reported, and only there.
  expect(decided({ added: PROMPT - 1_000 })).toBeUndefined();
  expect(decided({ added: PROMPT - 999 })).toEqual(["count_context"]);
});

test("a count decides; without one the estimate does", () => {
  expect(decided({ known: PROMPT + 1, counted: "yes" })).toEqual(["ask_summary"]);
  expect(decided({ known: PROMPT, counted: "yes" })).toBeUndefined();
  expect(decided({ known: PROMPT, added: 1, counted: "failed" })).toEqual(["ask_summary"]);
  expect(decided({ known: PROMPT, added: 1 }, { limits: { canCount: false } })).toEqual([
    "ask_summary",
  ]);
});

test("waiting input counts, and is taken up first", () => {
  const long = "x".repeat(600);
  expect(decided({ known: PROMPT - 300 }, { inbox: ["short"] })).toBeUndefined();
  expect(decided({ known: PROMPT - 100 }, { inbox: [long] })).toEqual(["take_up"]);
  expect(decided({ known: PROMPT - 100 }, { inbox: [long, "interrupt"] })).toEqual(["take_up"]);
});

test("a refusal needs no count, whatever the estimate says", () => {
  expect(decided({ known: 10, overflow: true })).toEqual(["ask_summary"]);
});

test("right after a compaction only a count or a refusal asks for another", () => {
  const after = { added: PROMPT, compactions: 1 };
  expect(decided(after)).toEqual(["count_context"]);
  expect(decided({ ...after, counted: "failed" })).toBeUndefined();
  expect(decided({ known: PROMPT + 1, compactions: 1, counted: "yes" })).toEqual(["ask_summary"]);
  expect(decided({ ...after, overflow: true })).toEqual(["ask_summary"]);
});

test("too many in a row are the limit; without summaries, or after it, the context is cut", () => {
  const over = { known: PROMPT + 1, counted: "yes" as const };
  expect(decided({ ...over, compactions: 3 })).toEqual(["exceed_compactions"]);
  expect(decided({ ...over, failedSummaries: 3 })).toEqual(["cut_context"]);
  expect(decided({ ...over, failedSummaries: 2 })).toEqual(["ask_summary"]);
  expect(decided({ ...over, mustCut: true })).toEqual(["cut_context"]);
});
