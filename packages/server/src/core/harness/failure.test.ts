import { describe, expect, test } from "vitest";
import { committed, responded, startedTurn, testDrafting, toolUse } from "../../testing/logs.ts";
import type { ModelOutcome } from "../ports/model.ts";
import { fold } from "../session/fold.ts";
import { failureDrafts, giveUpDrafts } from "./failure.ts";
import { DEFAULT_POLICIES, retryDelayMs } from "./policies.ts";

const overloaded: Extract<ModelOutcome, { type: "failure" }> = {
  type: "failure",
  kind: "overloaded",
  message: "The model is overloaded.",
  retryable: true,
};

const failed = (failure: typeof overloaded, policies = DEFAULT_POLICIES) => {
  const drafting = testDrafting();
  const state = fold(committed(startedTurn(drafting)));
  const request = {
    requestId: "start_1",
    state,
    context: [],
    systemTurns: "turn" as const,
    random: 0,
  };
  return failureDrafts(failure, request, policies, drafting);
};

describe("failureDrafts", () => {
  test("shows a failure that will be retried, and when", () => {
    const drafts = failed(overloaded);
    expect(drafts.map((event) => event.type)).toEqual([
      "span.model_request_end",
      "session.error",
      "session.status_rescheduled",
      "session.thread_status_rescheduled",
      "drover.retry_scheduled",
    ]);
    expect(drafts[1]?.public).toEqual({
      error: {
        type: "model_overloaded_error",
        message: "The model is overloaded.",
        retry_status: { type: "retrying" },
      },
    });
    expect(drafts[4]?.private).toEqual({
      attempt: 2,
      at_ms: Date.parse("2026-01-01T00:00:01.000Z"),
      since_ms: Date.parse("2026-01-01T00:00:00.000Z"),
    });
  });

  test("gives up at once on what a retry cannot mend, and after the last attempt", () => {
    const exhausted = [
      failed({ ...overloaded, kind: "request_failed", retryable: false }),
      failed(overloaded, { ...DEFAULT_POLICIES, attemptsMax: 1 }),
    ];
    for (const drafts of exhausted) {
      expect(drafts.map((event) => event.type)).toEqual([
        "span.model_request_end",
        "session.error",
      ]);
      expect(drafts[1]?.public).toMatchObject({ error: { retry_status: { type: "exhausted" } } });
    }
  });
});

test("retryDelayMs doubles, stays under its limit and honours the API's own wait", () => {
  const delay = (failures: number, retryAfterMs?: number) =>
    retryDelayMs(DEFAULT_POLICIES, { failures, retryAfterMs, random: 0 });
  expect([1, 2, 3, 20].map((failures) => delay(failures))).toEqual([1_000, 2_000, 4_000, 60_000]);
  expect(delay(1, 30_000)).toBe(30_000);
  expect(retryDelayMs(DEFAULT_POLICIES, { failures: 1, retryAfterMs: 0, random: 0.5 })).toBe(1_125);
});

test("giveUpDrafts closes everything that is open and shows why", () => {
  const drafting = testDrafting();
  const log = [...startedTurn(drafting), ...responded(drafting, [toolUse("a"), toolUse("b")])];
  const drafts = giveUpDrafts(fold(committed(log)), { message: "broken", cause: "bug" }, drafting);
  expect(drafts.map((event) => event.type)).toEqual([
    "agent.tool_result",
    "agent.tool_result",
    "session.error",
  ]);
  const state = fold(committed([...log, ...drafts]));
  expect(state.threads["sthr_1"]?.ending?.stop_reason).toEqual({ type: "retries_exhausted" });
});
