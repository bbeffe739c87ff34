import { describe, expect, test } from "vitest";
import {
  committed,
  interrupt,
  requestLost,
  responded,
  startedTurn,
  THREAD,
  testDrafting,
  text,
  toolUse,
  userMessage,
  waiting,
} from "../../testing/logs.ts";
import { fold } from "../session/fold.ts";
import type { EventDraft, InboxEvent } from "../session/log-event.ts";
import { draft } from "./drafting.ts";
import { nextActions } from "./next-actions.ts";
import { DEFAULT_POLICIES } from "./policies.ts";
import { callResult } from "./results.ts";
import { stepDrafts } from "./steps.ts";

const actions = (drafts: readonly EventDraft[], inbox: readonly InboxEvent[] = []) =>
  nextActions(fold(committed(drafts)), THREAD, inbox, DEFAULT_POLICIES);

test("an error that was shown before the first turn starts none", () => {
  const noted = draft(testDrafting(), "session.error", {
    public: {
      error: {
        type: "repository_clone_error",
        message: "no",
        repository_url: "https://github.com/a/b",
        retry_status: { type: "retrying" },
      },
    },
    private: {},
  });
  expect(actions([noted])).toEqual([]);
  expect(fold(committed([noted]))).toMatchObject({
    status: "idle",
    account: { runningSince: null },
  });
});

const started = (drafting: ReturnType<typeof testDrafting>, callId: string) =>
  draft(drafting, "drover.call_started", {
    public: {},
    private: { call_id: callId, hand_id: "hand_1", hands_boot: "boot_1" },
  });

const answered = (drafting: ReturnType<typeof testDrafting>, callId: string) =>
  callResult(
    drafting,
    { id: callId, kind: "hands", handId: "hand_1", name: "bash" },
    {
      type: "result",
      content: [{ type: "text", text: "done" }],
      is_error: false,
      outputs: [],
      cancelled: false,
    },
  );

const callsOf = (drafts: readonly EventDraft[]) =>
  drafts.filter((event) => event.type === "agent.tool_use").map((event) => event.id);

describe("an idle session", () => {
  test("wants nothing", () => {
    expect(actions([])).toEqual([]);
  });

  test("asks the model once there is a message", () => {
    const drafting = testDrafting();
    expect(actions([], [waiting(userMessage(drafting, "hi"), 1)])).toEqual([
      { kind: "append", id: "append:ask", step: { type: "ask", attempt: 1 } },
    ]);
  });

  test("records an interrupt and stays idle", () => {
    const event = interrupt(testDrafting());
    expect(actions([], [waiting(event, 1)])).toEqual([
      { kind: "append", id: "append:interrupt", step: { type: "interrupt", eventId: event.id } },
    ]);
  });

  test("takes up a message that came before an interrupt, so that the interrupt ends it", () => {
    const drafting = testDrafting();
    const inbox = [waiting(userMessage(drafting, "go"), 1), waiting(interrupt(drafting), 2)];
    const state = fold([]);
    const [ask] = nextActions(state, THREAD, inbox, DEFAULT_POLICIES);
    if (ask?.kind !== "append") throw new Error("expected an append");
    const drafts = stepDrafts(ask.step, state, inbox, drafting);
    expect(drafts.map((event) => event.type)).toEqual([
      "session.status_running",
      "session.thread_status_running",
      "user.message",
    ]);
    expect(actions(drafts, inbox.slice(1))).toMatchObject([{ step: { type: "interrupt" } }]);
  });
});

describe("a running turn", () => {
  test("keeps the request in flight that is open", () => {
    expect(actions(startedTurn(testDrafting()))).toMatchObject([
      { kind: "call_model", id: "request:start_1" },
    ]);
  });

  test("asks again after a request was lost, without counting it as a failure", () => {
    const drafting = testDrafting();
    expect(actions([...startedTurn(drafting), requestLost(drafting)])).toMatchObject([
      { step: { type: "ask", attempt: 1 } },
    ]);
  });

  test("ends after an answer without calls", () => {
    const drafting = testDrafting();
    const log = [...startedTurn(drafting), ...responded(drafting, [text("hi")])];
    expect(actions(log)).toMatchObject([{ step: { type: "end_turn" } }]);
  });

  test("goes on with a message that came meanwhile instead of ending", () => {
    const drafting = testDrafting();
    const log = [...startedTurn(drafting), ...responded(drafting, [text("hi")])];
    const inbox = [waiting(userMessage(drafting, "and?"), 1)];
    expect(actions(log, inbox)).toMatchObject([{ step: { type: "ask" } }]);
  });

  test("starts parallel calls at once, but the shell's one after another in their order", () => {
    const drafting = testDrafting();
    const blocks = [toolUse("a"), toolUse("b"), toolUse("c", "read"), toolUse("d", "write")];
    const log = [...startedTurn(drafting), ...responded(drafting, blocks, "start_1", "tool_use")];
    const [a = "", b = "", c = "", d = ""] = callsOf(log);
    const wanted = (drafts: readonly EventDraft[]) => actions(drafts).map(({ id }) => id);
    expect(wanted(log)).toEqual([`start:${a}`, `start:${c}`, `start:${d}`]);
    const running = [...log, started(drafting, a), started(drafting, c)];
    expect(wanted(running)).toEqual([`call:${a}`, `call:${c}`, `start:${d}`]);
    expect(wanted([...running, answered(drafting, a)])).toEqual([
      `start:${b}`,
      `call:${c}`,
      `start:${d}`,
    ]);
  });

  test("asks the model once every call is answered, and not before", () => {
    const drafting = testDrafting();
    const log = [
      ...startedTurn(drafting),
      ...responded(drafting, [toolUse("a", "read"), toolUse("b", "read")]),
    ];
    const [a = "", b = ""] = callsOf(log);
    const half = [...log, started(drafting, a), started(drafting, b), answered(drafting, b)];
    expect(actions(half)).toMatchObject([{ kind: "await_call", callId: a }]);
    expect(actions([...half, answered(drafting, a)])).toMatchObject([{ step: { type: "ask" } }]);
  });

  test("answers a call of a tool that is not offered without running it", () => {
    const drafting = testDrafting();
    const log = [...startedTurn(drafting), ...responded(drafting, [toolUse("a", "forbidden")])];
    expect(actions(log)).toMatchObject([{ step: { type: "refuse_calls", callIds: callsOf(log) } }]);
  });

  test("ends with a visible error when it has made too many requests", () => {
    const drafting = testDrafting();
    const policies = { ...DEFAULT_POLICIES, roundsMax: 1 };
    const log = [...startedTurn(drafting), ...responded(drafting, [toolUse("a", "read")])];
    const [a = ""] = callsOf(log);
    const state = fold(committed([...log, started(drafting, a), answered(drafting, a)]));
    const [exceeded] = nextActions(state, THREAD, [], policies);
    expect(exceeded).toMatchObject({ step: { type: "exceed_rounds" } });
  });
});

describe("an interrupt", () => {
  test("ends an open request and the calls that were not sent, at once", () => {
    const drafting = testDrafting();
    const inbox = [waiting(interrupt(drafting), 1)];
    expect(actions(startedTurn(drafting), inbox)).toMatchObject([
      { step: { type: "interrupt_open", callIds: [] } },
    ]);
    const log = [...startedTurn(drafting), ...responded(drafting, [toolUse("a"), toolUse("b")])];
    const [a = "", b = ""] = callsOf(log);
    const running = [...log, started(drafting, a)];
    expect(actions(running, inbox)).toMatchObject([
      { step: { type: "interrupt_open", callIds: [b] } },
    ]);
  });

  test("cancels the calls that were sent, and is recorded when all are answered", () => {
    const drafting = testDrafting();
    const inbox = [waiting(interrupt(drafting), 1)];
    const log = [...startedTurn(drafting), ...responded(drafting, [toolUse("a")])];
    const [a = ""] = callsOf(log);
    const running = [...log, started(drafting, a)];
    expect(actions(running, inbox)).toMatchObject([{ kind: "cancel_call", callId: a }]);
    expect(actions([...running, answered(drafting, a)], inbox)).toMatchObject([
      { step: { type: "interrupt" } },
    ]);
  });

  test("jumps over messages that wait in a running turn", () => {
    const drafting = testDrafting();
    const inbox = [waiting(userMessage(drafting, "next"), 1), waiting(interrupt(drafting), 2)];
    expect(actions(startedTurn(drafting), inbox)).toMatchObject([
      { step: { type: "interrupt_open" } },
    ]);
  });
});
