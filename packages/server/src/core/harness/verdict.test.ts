import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  committed,
  startedTurn,
  testDrafting,
  testTool,
  text,
  thinking,
  toolUse,
} from "../../testing/logs.ts";
import type { ModelBlock, ModelOutcome } from "../ports/model.ts";
import { fold } from "../session/fold.ts";
import { type GoOns, threadState } from "../session/state.ts";
import { contextMessages } from "./context.ts";
import { nextActions } from "./next-actions.ts";
import { BARE_POLICIES, DEFAULT_POLICIES, type Policies } from "./policies.ts";
import { responseDrafts } from "./response.ts";
import { settledOutcome, verdictOf } from "./verdict.ts";

type Response = Extract<ModelOutcome, { type: "response" }>;

/** What a response may hold, and what it means where the stop reason has nothing to add. */
const CONTENTS = {
  "no block": { blocks: [], means: "empty" },
  "blank text": { blocks: [text(" \n")], means: "empty" },
  "thinking alone": { blocks: [thinking("hm")], means: "empty" },
  text: { blocks: [thinking("hm"), text("hello")], means: "done" },
  "a call": { blocks: [toolUse("a")], means: "calls" },
  "text and calls": { blocks: [text("I do"), toolUse("a"), toolUse("b")], means: "calls" },
  "a block of the future": { blocks: [{ type: "hologram" }, text("see?")], means: "done" },
  "a cut call": { blocks: [text("I write")], cut_call: "write", means: "cut_call" },
  "a call and a cut one": { blocks: [toolUse("a")], cut_call: "write", means: "calls" },
  "an unreadable call": {
    blocks: [{ ...toolUse("a"), input: {} }],
    unreadable_inputs: [{ index: 0, text: "{" }],
    means: "unreadable_calls",
  },
  "an unreadable call and a good one": {
    blocks: [toolUse("a"), { ...toolUse("b"), input: {} }],
    unreadable_inputs: [{ index: 1, text: "{" }],
    means: "calls",
  },
} as const satisfies Record<string, Partial<Response> & { means: string }>;

const REASONS = [
  "end_turn",
  "tool_use",
  "max_tokens",
  "stop_sequence",
  "model_context_window_exceeded",
  "pause_turn",
  "refusal",
  "moon_phase",
  "",
  null,
];

const CASES = Object.entries(CONTENTS).flatMap(([name, content]) =>
  REASONS.map((stop_reason) => ({ name, stop_reason, content })),
);

function response(given: Partial<Response>): Response {
  return {
    type: "response",
    blocks: [],
    stop_reason: null,
    usage: {},
    request_id: undefined,
    ...given,
  };
}

function expected(means: string, stopReason: string | null): string {
  if (stopReason === "refusal") return "refusal";
  if (stopReason === "pause_turn" && means !== "calls" && means !== "unreadable_calls") {
    return "paused";
  }
  return means;
}

/** The log of a turn with this response, and what is next. */
/** As often as this for every reason. */
const each = (times: number): GoOns => ({
  paused: times,
  cut_call: times,
  empty: times,
  unreadable_calls: times,
});

function turnWith(given: Response, goOns: GoOns, policies: Policies) {
  const drafting = testDrafting();
  const drafts = responseDrafts(
    given,
    { requestId: "start_1", previewId: () => undefined, toolOf: testTool, goOns, policies },
    drafting,
  );
  const log = committed([...startedTurn(drafting), ...drafts]);
  const state = fold(log);
  return { log, state, next: nextActions(state, drafting.threadId, [], policies) };
}

describe("the verdict on a response", () => {
  test.each(CASES)("with $name and $stop_reason", ({ content, stop_reason }) => {
    const { means, ...rest } = content;
    const given = response({ ...rest, stop_reason });
    const wanted = expected(means, stop_reason);
    const verdict = verdictOf(given, {}, DEFAULT_POLICIES, "any");
    expect("because" in verdict ? [verdict.type, verdict.because] : verdict.type).toEqual(
      ["done", "calls", "refusal"].includes(wanted) ? wanted : ["go_on", wanted],
    );
  });

  test.each(CASES)(
    "with $name and $stop_reason is acted upon, and what is asked next is a valid conversation",
    ({ content, stop_reason }) => {
      const given = response({ ...content, stop_reason });
      for (const policies of [DEFAULT_POLICIES, BARE_POLICIES]) {
        const verdict = verdictOf(given, {}, policies, "any");
        const { log, state, next } = turnWith(given, {}, policies);
        const kinds = next.map((action) =>
          action.kind === "append" ? action.step.type : action.kind,
        );
        if (verdict.type === "calls") expect(kinds).toContain("start_call");
        else if (verdict.type === "go_on") expect(kinds).toEqual(["ask"]);
        else expect(kinds).toEqual(["end_turn"]);
        expect(threadState(state, "sthr_1").goOns).toEqual(
          verdict.type === "go_on" ? { [verdict.because]: 1 } : {},
        );
        const messages = contextMessages(log);
        // A model without prefill takes no conversation that ends with its own words.
        if (kinds.includes("ask")) expect(messages.at(-1)?.role).toBe("user");
        const roles = messages.map(({ role }) => role);
        expect(roles.every((role, index) => role !== roles[index - 1])).toBe(true);
      }
    },
  );

  test("whatever comes again and again, the turn ends, with an error that says why", () => {
    const stuck = Object.values(CONTENTS).flatMap((content) =>
      REASONS.map((stop_reason) => response({ ...content, stop_reason })),
    );
    for (const given of stuck) {
      const limit = Math.max(
        DEFAULT_POLICIES.pausesMax,
        DEFAULT_POLICIES.cutsMax,
        DEFAULT_POLICIES.emptiesMax,
        DEFAULT_POLICIES.unreadablesMax,
      );
      const verdict = verdictOf(given, each(limit), DEFAULT_POLICIES, "any");
      expect(verdict.type).not.toBe("go_on");
      if (verdict.type !== "stalled") continue;
      const { log, state } = turnWith(given, each(limit), DEFAULT_POLICIES);
      expect(log.at(-1)).toMatchObject({
        type: "session.error",
        public: { error: { retry_status: { type: "exhausted" }, message: expect.any(String) } },
      });
      expect(threadState(state, "sthr_1").ending?.stop_reason.type).toBe("retries_exhausted");
    }
  });

  test("each reason has its own count: after a pause an empty answer is asked for once more", () => {
    const empty = response({ stop_reason: "end_turn" });
    const verdict = (goOns: GoOns) => verdictOf(empty, goOns, DEFAULT_POLICIES, "any").type;
    expect(verdict({ paused: 5, cut_call: 2 })).toBe("go_on");
    expect(verdict({ empty: DEFAULT_POLICIES.emptiesMax })).toBe("stalled");
  });

  test("no mixture of blocks and reasons makes a turn that neither goes on nor ends", () => {
    const block = fc.oneof(
      fc.constantFrom<ModelBlock>(text("a"), text(" "), thinking("b"), { type: "new" }),
      fc.nat(3).map((n) => toolUse(`toolu_${n}`)),
    );
    fc.assert(
      fc.property(
        fc.array(block, { maxLength: 6 }),
        fc.oneof(fc.constantFrom(...REASONS), fc.string()),
        fc.option(fc.string(), { nil: undefined }),
        fc.nat(25),
        fc.constantFrom(DEFAULT_POLICIES, BARE_POLICIES),
        (blocks, stop_reason, cut, goOns, policies) => {
          const given = response({
            blocks,
            stop_reason,
            ...(cut !== undefined && { cut_call: cut }),
          });
          const { next, log } = turnWith(given, each(goOns), policies);
          expect(next.length).toBeGreaterThan(0);
          const calls = log.filter(({ type }) => type === "agent.tool_use").length;
          expect(calls).toBe(
            stop_reason === "refusal" ? 0 : blocks.filter(({ type }) => type === "tool_use").length,
          );
        },
      ),
    );
  });
});

describe("without their workarounds", () => {
  const verdict = (given: Partial<Response>) =>
    verdictOf(response(given), {}, BARE_POLICIES, "any");

  test("an empty answer and a cut call end the turn", () => {
    expect(verdict({})).toEqual({ type: "done" });
    expect(verdict({ cut_call: "write", stop_reason: "max_tokens" })).toEqual({ type: "done" });
  });

  test("an input that cannot be read fails the request, which is made again", () => {
    const given = response({ ...CONTENTS["an unreadable call"], usage: { input_tokens: 7 } });
    expect(settledOutcome(given, DEFAULT_POLICIES, "any")).toBe(given);
    expect(settledOutcome(given, BARE_POLICIES, "any")).toMatchObject({
      type: "failure",
      retryable: true,
      usage: { input_tokens: 7 },
    });
  });

  test("a pause is still a pause, for that is the API's own", () => {
    expect(verdict({ stop_reason: "pause_turn" }).type).toBe("go_on");
  });
});
