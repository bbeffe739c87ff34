import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { committed, startedTurn, THREAD, testDrafting } from "../../testing/logs.ts";
import { draft, threadStatus } from "../harness/drafting.ts";
import { stepDrafts } from "../harness/steps.ts";
import type { ModelUsage } from "../ports/model.ts";
import {
  activeMs,
  charged,
  consumed,
  EMPTY_ACCOUNT,
  resumed,
  shownUsage,
  started,
  stopped,
} from "./account.ts";
import { fold } from "./fold.ts";
import type { RequestEnd } from "./log-event.ts";
import { totalsOf } from "./totals.ts";

const at = (ms: number) => new Date(ms).toISOString();
const usage: ModelUsage = { input_tokens: 2, output_tokens: 1 };
const answered = (end: Partial<RequestEnd>) => ({ outcome: "response" as const, ...end });

describe("running time", () => {
  test("counts between start and stop, at the price of the start", () => {
    const once = stopped(started(EMPTY_ACCOUNT, at(0), "3600000"), at(1_000));
    expect(activeMs(once, at(99_000))).toBe(1_000);
    expect(consumed(once, at(99_000))).toBe(1_000n);
    const twice = started(once, at(5_000), "7200000");
    // What runs is not started anew, and its price does not change any more.
    expect(started(twice, at(6_000), "1")).toBe(twice);
    expect(activeMs(twice, at(7_000))).toBe(3_000);
    expect(consumed(twice, at(7_000))).toBe(5_000n);
  });

  test("that goes back counts nothing", () => {
    expect(activeMs(started(EMPTY_ACCOUNT, at(5_000)), at(1_000))).toBe(0);
  });

  test("leaves out what lies between two servers", () => {
    const copy = resumed(started(EMPTY_ACCOUNT, at(0), "3600000"), at(2_000), at(50_000));
    expect(activeMs(copy, at(51_000))).toBe(3_000);
    expect(consumed(copy, at(51_000))).toBe(3_000n);
    expect(resumed(EMPTY_ACCOUNT, at(1), at(2))).toBe(EMPTY_ACCOUNT);
  });
});

describe("what is shown of an account", () => {
  const NOW = at(0);

  test("has no cost before anything had a price", () => {
    expect(shownUsage(EMPTY_ACCOUNT, NOW)).toEqual({ active_seconds: 0 });
    const failed = charged(EMPTY_ACCOUNT, { outcome: "failed" });
    expect(shownUsage(failed, NOW)).toEqual({ active_seconds: 0 });
  });

  test("has the tokens of every request that told some, however it ended", () => {
    for (const outcome of ["response", "failed", "interrupted", "lost"] as const) {
      const account = charged(EMPTY_ACCOUNT, { outcome, usage, cost: "15000000000" });
      expect(shownUsage(account, NOW)).toEqual({
        ...usage,
        active_seconds: 0,
        list_cost: { amount: "2", currency: "USD" },
      });
    }
  });

  test("has no cost any more once something had no price, or was not told", () => {
    const priced = charged(EMPTY_ACCOUNT, answered({ usage, cost: "1" }));
    for (const end of [answered({ usage }), answered({}), { outcome: "failed" as const, usage }]) {
      const account = charged(charged(priced, end), answered({ usage, cost: "1" }));
      expect(account.isUnknown).toBe(true);
      expect(shownUsage(account, NOW)).not.toHaveProperty("list_cost");
    }
  });
});

describe("usage", () => {
  const count = fc.option(fc.nat(1_000_000), { nil: undefined });
  const reported = fc
    .record({
      input_tokens: count,
      output_tokens: count,
      cache_read_input_tokens: count,
      web_search_requests: count,
    })
    .map(({ web_search_requests, ...tokens }) => ({
      ...tokens,
      server_tool_use: { web_search_requests },
    }))
    .map((all) => JSON.parse(JSON.stringify(all)) as ModelUsage);

  test("sums what was reported; what never was is absent and not zero", () => {
    fc.assert(
      fc.property(fc.array(reported, { maxLength: 20 }), (usages) => {
        const account = usages.reduce(
          (sum, one) => charged(sum, answered({ usage: one })),
          EMPTY_ACCOUNT,
        );
        for (const name of ["input_tokens", "output_tokens", "cache_read_input_tokens"] as const) {
          const told = usages.flatMap((one) => one[name] ?? []);
          const sum = told.length === 0 ? undefined : told.reduce((a, b) => a + b, 0);
          expect(account.usage[name]).toBe(sum);
        }
        const searches = usages.flatMap((one) => one.server_tool_use?.web_search_requests ?? []);
        expect(account.usage.server_tool_use?.web_search_requests).toBe(
          searches.length === 0 ? undefined : searches.reduce((a, b) => a + b, 0),
        );
      }),
    );
  });
});

describe("the totals of a session", () => {
  test("do not count a wait for another attempt, of the session or of its thread", () => {
    const drafting = testDrafting();
    // A second an event: it runs from the first to the fifth, and from the eighth to the last.
    const drafts = [
      ...startedTurn(drafting),
      draft(drafting, "session.status_rescheduled", { public: {}, private: {} }),
      threadStatus(drafting, "session.thread_status_rescheduled"),
      draft(drafting, "session.error", {
        public: {
          error: { type: "unknown_error", message: "", retry_status: { type: "retrying" } },
        },
        private: {},
      }),
    ];
    const waiting = fold(committed(drafts));
    expect(totalsOf(waiting, at(Date.UTC(2027, 0, 1)))).toMatchObject({
      usage: { active_seconds: 4 },
      stats: { active_seconds: 4 },
      threads: { [THREAD]: { stats: { active_seconds: 4 } } },
    });
    const again = [
      draft(drafting, "session.status_running", { public: {}, private: {} }),
      threadStatus(drafting, "session.thread_status_running"),
      ...stepDrafts({ type: "end_turn" }, waiting, [], drafting),
    ];
    const over = fold(committed([...drafts, ...again]));
    expect(totalsOf(over, at(0))).toMatchObject({
      // Up to `session.status_idle`, and for the thread up to its own, two events before.
      usage: { active_seconds: 8 },
      stats: { active_seconds: 5 },
      isHeld: false,
    });
  });

  test("count time in which two threads run once for the session, and for each of them", () => {
    const drafting = testDrafting();
    const of = (threadId: string) => ({ ...drafting, threadId });
    const idle = (threadId: string) =>
      draft(of(threadId), "session.thread_status_idle", {
        public: {
          ...{ session_thread_id: threadId, agent_name: "tester" },
          ...{ stop_reason: { type: "end_turn" }, stop_details: null },
        },
        private: {},
      });
    // A second an event.
    const drafts = [
      draft(drafting, "session.status_running", { public: {}, private: { hour_price: "3600000" } }),
      threadStatus(of("sthr_1"), "session.thread_status_running"),
      threadStatus(of("sthr_2"), "session.thread_status_running"),
      idle("sthr_1"),
      idle("sthr_2"),
      draft(drafting, "session.status_idle", {
        public: { stop_reason: { type: "end_turn" }, stop_details: null },
        private: {},
      }),
    ];
    const state = fold(committed(drafts));
    expect(totalsOf(state, at(0))).toMatchObject({
      usage: { active_seconds: 5 },
      stats: { active_seconds: 4 },
      threads: {
        sthr_1: { usage: { active_seconds: 2 } },
        sthr_2: { usage: { active_seconds: 2 } },
      },
    });
    // The running time costs the session, and no thread.
    expect(consumed(state.account, at(0))).toBe(5_000n);
    expect(state.threads["sthr_1"]?.account.cost).toBe("0");
  });
});
