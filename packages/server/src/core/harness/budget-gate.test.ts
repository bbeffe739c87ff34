import type { Budget } from "@drover/api";
import { expect, test } from "vitest";
import {
  committed,
  startedTurn,
  THREAD,
  testDrafting,
  userMessage,
  waiting,
} from "../../testing/logs.ts";
import { budgetSet } from "../session/budget.ts";
import { fold } from "../session/fold.ts";
import type { EventDraft } from "../session/log-event.ts";
import type { Action } from "./actions.ts";
import { withinBudget } from "./budget-gate.ts";
import { draft } from "./drafting.ts";
import { requestEnded } from "./request-end.ts";
import { stepDrafts } from "./steps.ts";

const NOW = "2026-01-01T01:00:00.000Z";
const ASK: Action = { kind: "append", id: "append:ask", step: { type: "ask", attempt: 1 } };
const limit = (amount: string): Budget => ({
  type: "limit",
  max_list_cost: { amount, currency: "USD" },
});
/** An hour costs a dollar here, and a token of output a cent. */
const prices = {
  tokens: () => ({
    input: 0,
    output: 10 ** 10,
    cache_read: 0,
    cache_write_5m: 0,
    cache_write_1h: 0,
  }),
  hour: 10 ** 12,
  search: 0,
};
const drafting = () => ({ ...testDrafting(NOW), prices });

interface Given {
  readonly more: readonly EventDraft[];
  readonly actions: readonly Action[];
  /** Of output, in the turn's request. */
  readonly tokens: number;
}

function gate(
  budget: Budget | null,
  { more = [], actions = [ASK], tokens = 0 }: Partial<Given> = {},
) {
  const events = [
    ...(budget === null ? [] : [budgetSet("sevt_budget", THREAD, budget)]),
    ...startedTurn(drafting()),
    requestEnded(drafting(), "start_1", { outcome: "failed", usage: { output_tokens: tokens } }),
    ...more,
  ];
  const state = fold(committed(events));
  const idOf = ([action]: readonly Action[]) => action?.id;
  const within = (inbox: Parameters<typeof withinBudget>[2]["inbox"] = []) =>
    idOf(withinBudget(actions, state, { threadId: THREAD, inbox, now: NOW }));
  return { state, within };
}

test("no request is made when the running time alone has reached the budget", () => {
  // Nearly an hour has gone by since the turn began.
  expect(gate(limit("99")).within()).toBe("append:hold");
  expect(gate(limit("100")).within()).toBe("append:ask");
  expect(gate(null).within()).toBe("append:ask");
});

test("what is no request goes on, and what runs is not broken off", () => {
  const wait: Action = { kind: "wait", id: "wait", atMs: 1 };
  const end: Action = { kind: "append", id: "append:end_turn", step: { type: "end_turn" } };
  const judge: Action = { kind: "judge_calls", id: "judge" };
  expect(gate(limit("1"), { actions: [wait] }).within()).toBe("wait");
  expect(gate(limit("1"), { actions: [end] }).within()).toBe("append:end_turn");
  // The time runs on while a judge is asked, who was asked below the budget.
  expect(gate(limit("1"), { actions: [judge] }).within()).toBe("judge");
});

test("a held turn only takes its input into the log, until the budget changes", () => {
  const tokens = 60;
  const { state } = gate(limit("50"), { tokens });
  const more = stepDrafts({ type: "hold" }, state, [], drafting());
  expect(gate(limit("50"), { tokens, more }).within()).toBeUndefined();
  const message = waiting(userMessage(drafting(), "more"), 1);
  expect(gate(limit("50"), { tokens, more }).within([message])).toBe("append:keep_input");
  const raised = draft(drafting(), "session.updated", {
    public: { budget: limit("61") },
    private: {},
  });
  expect(gate(limit("50"), { tokens, more: [...more, raised] }).within()).toBe("append:ask");
});

test("a pause of which a log has only the beginning is told to its end", () => {
  const tokens = 60;
  const { state } = gate(limit("50"), { tokens });
  const more = stepDrafts({ type: "hold" }, state, [], drafting()).slice(0, 1);
  expect(more.map(({ type }) => type)).toEqual(["session.thread_status_idle"]);
  const cut = gate(limit("50"), { tokens, more });
  expect(cut.within()).toBe("append:hold");
  const rest = stepDrafts({ type: "hold" }, cut.state, [], drafting());
  expect(rest.map(({ type }) => type)).toEqual(["session.usage", "session.status_idle"]);
});
