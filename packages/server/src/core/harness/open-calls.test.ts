import { describe, expect, test } from "vitest";
import {
  committed,
  responded,
  startedTurn,
  THREAD,
  testDrafting,
  toolUse,
} from "../../testing/logs.ts";
import { fold } from "../session/fold.ts";
import type { EventDraft } from "../session/log-event.ts";
import { threadState } from "../session/state.ts";
import type { Drafting } from "./drafting.ts";
import { draft } from "./drafting.ts";
import { nextActions } from "./next-actions.ts";
import { DEFAULT_POLICIES } from "./policies.ts";
import { stepDrafts } from "./steps.ts";

/** A turn in which these tools were called, and what was appended since. */
function called(...names: readonly string[]) {
  const drafting = testDrafting();
  const blocks = names.map((name, index) => toolUse(`toolu_${index}`, name));
  const drafts = [...startedTurn(drafting), ...responded(drafting, blocks)];
  const ids = drafts.flatMap(({ type, id }) => (type.endsWith("tool_use") ? [id] : []));
  return { drafting, drafts, ids };
}

function confirmed(
  drafting: Drafting,
  id: string | undefined,
  result: "allow" | "deny",
  deny_message?: string,
): EventDraft {
  const why = deny_message === undefined ? {} : { deny_message };
  return draft(drafting, "user.tool_confirmation", {
    public: { tool_use_id: id ?? "", result, ...why },
    private: {},
  });
}

function told(drafting: Drafting, id: string | undefined): EventDraft {
  const body = { custom_tool_use_id: id ?? "", content: [] };
  return draft(drafting, "user.custom_tool_result", { public: body, private: {} });
}

const stateOf = (drafts: readonly EventDraft[]) => fold(committed(drafts));
const next = (drafts: readonly EventDraft[]) =>
  nextActions(stateOf(drafts), THREAD, [], DEFAULT_POLICIES);

/** The log with every decision that follows from it. */
function decided(drafts: readonly EventDraft[], drafting: Drafting): readonly EventDraft[] {
  const [action] = next(drafts);
  if (action?.kind !== "append") return drafts;
  const more = stepDrafts(action.step, stateOf(drafts), [], drafting);
  return decided([...drafts, ...more], drafting);
}

const stopsOf = (drafts: readonly EventDraft[]) =>
  drafts.flatMap((event) =>
    event.type === "session.status_idle" ? [event.public.stop_reason] : [],
  );
const requires = (...event_ids: readonly (string | undefined)[]) => ({
  type: "requires_action",
  event_ids,
});

describe("open calls", () => {
  test("what runs is run first, and then the client is waited for, in the order of the response", () => {
    const { drafts, ids } = called("client_a", "read", "ask_b");
    expect(next(drafts)).toMatchObject([{ kind: "start_call", callId: ids[1] }]);
    const { drafting, drafts: waiting, ids: both } = called("client_a", "ask_b");
    const idle = decided(waiting, drafting);
    expect(stopsOf(idle)).toEqual([requires(...both)]);
    expect(next(idle)).toEqual([]);
  });

  test("the turn is kept while it waits", () => {
    const { drafting, drafts } = called("client_a");
    const thread = threadState(stateOf(decided(drafts, drafting)), THREAD);
    expect(thread).toMatchObject({ status: "idle", rounds: 1, calls: [{ kind: "client" }] });
  });

  test("a partial result is told with what is left, without running in between", () => {
    const { drafting, drafts, ids } = called("client_a", "ask_b");
    const idle = decided(drafts, drafting);
    const after = decided([...idle, told(drafting, ids[0])], drafting);
    expect(after.slice(idle.length + 1).map(({ type }) => type)).toEqual([
      "session.thread_status_idle",
      "session.usage",
      "session.status_idle",
    ]);
    expect(stopsOf(after).at(-1)).toEqual(requires(ids[1]));
  });

  test("an allowed call makes the session run again before it is started", () => {
    const { drafting, drafts, ids } = called("ask_a", "ask_b");
    const idle = decided(drafts, drafting);
    const after = decided([...idle, confirmed(drafting, ids[1], "allow")], drafting);
    expect(after.slice(idle.length + 1).map(({ type }) => type)).toEqual([
      "session.status_running",
      "session.thread_status_running",
    ]);
    expect(next(after)).toMatchObject([{ kind: "start_call", callId: ids[1] }]);
  });

  test("a denied call is answered with the user's reason, and the model goes on with it", () => {
    const { drafting, drafts, ids } = called("ask_a");
    const idle = decided(drafts, drafting);
    const after = decided([...idle, confirmed(drafting, ids[0], "deny", "Not now.")], drafting);
    const result = after.find(({ type }) => type === "agent.tool_result");
    expect(result).toMatchObject({
      public: { tool_use_id: ids[0], is_error: true },
      private: { reason: "rejected" },
    });
    expect(JSON.stringify(result)).toContain("Not now.");
    expect(after.at(-1)?.type).toBe("span.model_request_start");
  });

  test("only the first confirmation counts, and only for a call that asks", () => {
    const { drafting, drafts, ids } = called("ask_a", "read");
    const after = stateOf([
      ...drafts,
      confirmed(drafting, ids[0], "deny"),
      confirmed(drafting, ids[0], "allow"),
      confirmed(drafting, ids[1], "deny"),
      confirmed(drafting, "sevt_nobody", "allow"),
    ]);
    expect(threadState(after, THREAD).calls).toMatchObject([
      { confirmation: { result: "deny", message: null } },
      { confirmation: null },
    ]);
  });

  test("a shell call that asks holds up the ones behind it, but not their questions", () => {
    const { drafts, ids } = called("bash", "bash");
    const asking = drafts.map((event) =>
      event.type === "agent.tool_use"
        ? { ...event, public: { ...event.public, evaluated_permission: "ask" as const } }
        : event,
    );
    const drafting = testDrafting();
    const idle = decided(asking, drafting);
    expect(stopsOf(idle)).toEqual([requires(...ids)]);
    const second = decided([...idle, confirmed(drafting, ids[1], "allow")], drafting);
    expect(stopsOf(second).at(-1)).toEqual(requires(ids[0]));
    const both = decided([...second, confirmed(drafting, ids[0], "deny")], drafting);
    expect(next(both)).toMatchObject([{ kind: "start_call", callId: ids[1] }]);
  });

  test("a log that ends between the thread's idle and the session's says the rest", () => {
    const { drafting, drafts } = called("client_a");
    const idle = decided(drafts, drafting);
    for (let cut = drafts.length; cut <= idle.length; cut++) {
      const again = decided(idle.slice(0, cut), drafting);
      expect(again.at(-1)?.type).toBe("session.status_idle");
      expect(stopsOf(again)).toHaveLength(1);
    }
  });
});
