import { expect, test } from "vitest";
import {
  committed,
  responded,
  startedTurn,
  THREAD,
  testDrafting,
  text,
  userMessage,
  waiting,
} from "../../testing/logs.ts";
import { fold } from "../session/fold.ts";
import type { EventDraft } from "../session/log-event.ts";
import { draft } from "./drafting.ts";
import { nextActions } from "./next-actions.ts";
import { DEFAULT_POLICIES } from "./policies.ts";
import { idleDrafts, runningDrafts } from "./steps.ts";
import { withToolsListed } from "./tools-gate.ts";

const drafting = testDrafting();
const error = { type: "connection", message: "gone" } as const;
const listed = (isFailed = false) =>
  draft(drafting, "drover.mcp_tools_listed", {
    public: {},
    private: { servers: [{ name: "wiki", tools: [], ...(isFailed && { error }) }] },
  });
/** A turn that has begun, with its input taken up, and nothing asked yet. */
const begun = [...runningDrafts(fold([]), drafting), userMessage(drafting, "hello")];
const ended = (type: "end_turn" | "requires_action" | "budget_reached"): readonly EventDraft[] => {
  const reason = type === "requires_action" ? { type, event_ids: [] } : { type };
  return idleDrafts({ stop_reason: reason, stop_details: null }, fold(committed(begun)), drafting);
};
function wanted(log: readonly EventDraft[], said: readonly string[] = [], hasMcpServers = true) {
  const state = fold(committed(log));
  const inbox = said.map((each, index) => waiting(userMessage(drafting, each), index + 1));
  const actions = nextActions(state, THREAD, inbox, DEFAULT_POLICIES);
  const gated = withToolsListed(actions, state, { threadId: THREAD, inbox, hasMcpServers });
  return gated.map((action) => (action.kind === "append" ? action.step.type : action.id));
}

test("input is taken up, then servers are asked, then the model", () => {
  expect(wanted([], ["hello"])).toEqual(["take_up"]);
  expect(wanted(begun)).toEqual(["list:0"]);
  expect(wanted(begun, ["and this"])).toEqual(["take_up"]);
  expect(wanted([...begun, listed()])).toEqual(["ask"]);
});

test("nothing is asked for an agent without servers, or where no model is asked", () => {
  expect(wanted(begun, [], false)).toEqual(["ask"]);
  expect(wanted([])).toEqual([]);
  expect(wanted(startedTurn(drafting))).toEqual(["request:start_1"]);
});

test.each<[string, readonly EventDraft[], string]>([
  ["what is known", [], "ask"],
  ["a turn that ended", ended("end_turn"), "ask"],
  [
    "another title",
    [draft(drafting, "session.updated", { public: { title: "t" }, private: {} })],
    "ask",
  ],
])("servers are not asked again after %s", (_, events, expected) => {
  const log = [...begun, listed(), ...events, ...begun];
  expect(wanted(log)).toEqual([expected]);
});

test("servers are asked again after a failure once its turn has ended, and not before", () => {
  const failed = [...begun, listed(true)];
  expect(wanted(failed)).toEqual(["ask"]);
  expect(wanted([...failed, ...ended("requires_action"), ...begun])).toEqual(["ask"]);
  expect(wanted([...failed, ...ended("budget_reached"), ...begun])).toEqual(["ask"]);
  expect(wanted([...failed, ...ended("end_turn"), ...begun])).toEqual(["list:4"]);
});

test("servers are asked again in a copy of the session, and when one says that it has others", () => {
  const origin = { session_id: "sesn_0", event_id: null, until: null, note: null };
  const forked = draft(drafting, "drover.forked", { public: {}, private: origin });
  expect(wanted([...begun, listed(), forked])).toEqual(["list:4"]);
  const answered = draft(drafting, "agent.mcp_tool_result", {
    public: { mcp_tool_use_id: "sevt_0", content: [], is_error: false },
    private: { reason: "executed", tools_changed: true },
  });
  expect(wanted([...begun, listed(), answered])).toEqual(["list:4"]);
  expect(wanted([...begun, listed(), answered, listed()])).toEqual(["ask"]);
});

test("a response is judged by what was listed before it", () => {
  const log = [...startedTurn(drafting), ...responded(drafting, [text("hi")])];
  expect(wanted(log)).toEqual(["end_turn"]);
});
