import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { assertHas, assertTime } from "../support/expect.ts";
import { newSession } from "../support/fixtures.ts";
import { sendText } from "../support/sending.ts";
import { historyOf, runTurn, script } from "../support/turns.ts";
import { eventsOf, onlyOf, typesOf, Watch } from "../support/watch.ts";
import type { Target } from "../target.ts";

/** More rounds of tool use than a turn may have anywhere. */
const ROUNDS = 500;

/** Turns that the model fails or refuses. */
export const eventsErrors: readonly Scenario[] = [
  scenario(
    "a request that fails for now is tried again, and the turn ends well",
    {
      verifies: [
        "events.error.retrying",
        "events.error.rescheduled",
        "events.error.form",
        "events.error.overloaded",
        "events.session.status",
        "events.session.thread-status",
        "events.span.is-error",
      ],
      rows: [67],
      needs: ["scripted-model"],
    },
    async (t) => {
      const session = await newSession(t);
      const text = failingOnce(t, "overloaded");
      const seen = (await runTurn(t, session.id, text)).filter(
        (event) => event.processed_at !== null,
      );
      assert.deepEqual(typesOf(seen), [
        "session.status_running",
        "session.thread_status_running",
        "user.message",
        "span.model_request_start",
        "span.model_request_end",
        "session.error",
        "session.status_rescheduled",
        "session.thread_status_rescheduled",
        "session.status_running",
        "session.thread_status_running",
        "span.model_request_start",
        "agent.message",
        "span.model_request_end",
        "session.thread_status_idle",
        "session.usage",
        "session.status_idle",
      ]);
      const { error } = onlyOf(seen, "session.error");
      assert(error.message.length > 0);
      assertHas(error, { type: "model_overloaded_error", retry_status: { type: "retrying" } });
      const ends = eventsOf(seen, "span.model_request_end");
      assert.deepEqual(
        ends.map(({ is_error }) => is_error),
        [true, false],
      );
      const { session_thread_id, agent_name } = onlyOf(seen, "session.thread_status_rescheduled");
      assertHas(seen[1] ?? {}, { session_thread_id, agent_name });
      assertHas(seen.at(-1) ?? {}, { stop_reason: { type: "end_turn" }, stop_details: null });
    },
  ),
  scenario(
    "each kind of failure of a model has its own type",
    {
      verifies: [
        "events.error.rate-limited",
        "events.error.request-failed",
        "events.error.billing",
        "events.error.form",
      ],
      rows: [67],
      needs: ["scripted-model"],
    },
    async (t) => {
      const kinds = {
        rate_limited: "model_rate_limited_error",
        connection: "model_request_failed_error",
        request_failed: "model_request_failed_error",
        billing: "billing_error",
      };
      const tried = Object.entries(kinds).map(async ([kind, type]) => {
        const session = await newSession(t);
        const seen = await runTurn(t, session.id, failingOnce(t, kind));
        const { error } = onlyOf(seen, "session.error");
        assert.equal(error.type, type);
        assert.match(error.retry_status.type, /^(retrying|exhausted)$/);
        // What the client has to see to is not tried again.
        if (kind === "billing") assert.equal(error.retry_status.type, "exhausted");
      });
      await Promise.all(tried);
    },
  ),
  scenario(
    "a turn that is given up says so once, takes waiting input with it, and the next one works",
    {
      verifies: [
        "events.error.exhausted",
        "events.error.flushed",
        "events.error.next-turn",
        "events.stop.retries-exhausted",
      ],
      rows: [67],
      needs: ["scripted-model"],
    },
    async (t) => {
      const session = await newSession(t);
      const watch = await Watch.open(t, session.id);
      await sendText(t, session.id, script("- fail: billing\n  wait_ms: 2000"));
      await watch.untilType("span.model_request_start");
      const queued = await sendText(t, session.id, "meanwhile");
      const turn = await watch.turn();
      const { error } = onlyOf(turn, "session.error");
      assertHas(error, { type: "billing_error", retry_status: { type: "exhausted" } });
      const idle = { stop_reason: { type: "retries_exhausted" }, stop_details: null };
      assertHas(onlyOf(turn, "session.thread_status_idle"), idle);
      assertHas(onlyOf(turn, "session.status_idle"), idle);
      const flushed = (await historyOf(t, session.id)).find((event) => event.id === queued);
      assertTime(onlyOf([flushed ?? { type: "" }], "user.message").processed_at);
      assert.equal((await t.client.beta.sessions.retrieve(session.id)).status, "idle");
      const second = await runTurn(t, session.id, script("- say: all is well"));
      assert.deepEqual(onlyOf(second, "agent.message").content, [
        { type: "text", text: "all is well" },
      ]);
      const again = await watch.turn();
      assert.deepEqual(typesOf(again.slice(0, 2)), ["user.message", "session.status_running"]);
      await watch.close();
    },
  ),
  scenario(
    "a failure that does not pass is retried until the attempts are used up",
    {
      verifies: ["events.error.exhausted", "events.error.retrying"],
      rows: [67],
      needs: ["scripted-model"],
    },
    async (t) => {
      const session = await newSession(t);
      const watch = await Watch.open(t, session.id);
      await sendText(t, session.id, script("- fail: overloaded"));
      const turn = await watch.turn();
      const statuses = eventsOf(turn, "session.error").map(({ error }) => error.retry_status.type);
      const retries = statuses.slice(0, -1);
      assert(retries.length > 0);
      assert.deepEqual(new Set(retries), new Set(["retrying"]));
      assert.equal(statuses.at(-1), "exhausted");
      assert.equal(eventsOf(turn, "span.model_request_start").length, statuses.length);
      assertHas(turn.at(-1) ?? {}, { stop_reason: { type: "retries_exhausted" } });
      await watch.close();
    },
  ),
  scenario(
    "a refusal is told with its details, which are null for everything else",
    {
      verifies: ["events.stop.refusal", "events.session.idle"],
      rows: [68],
      needs: ["scripted-model"],
    },
    async (t) => {
      const session = await newSession(t);
      const text = script("- say: I would rather not.\n  stop_reason: refusal");
      const seen = await runTurn(t, session.id, text);
      for (const type of ["session.status_idle", "session.thread_status_idle"] as const) {
        const idle = onlyOf(seen, type);
        assert.deepEqual(idle.stop_reason, { type: "refusal" });
        const { stop_details } = idle;
        assert.deepEqual(Object.keys(stop_details ?? {}).toSorted(), [
          "category",
          "explanation",
          "type",
        ]);
        assertHas(stop_details ?? {}, { type: "refusal" });
      }
      const next = await runTurn(t, session.id, script("- say: but this I do"));
      assertHas(onlyOf(next, "session.status_idle"), {
        stop_reason: { type: "end_turn" },
        stop_details: null,
      });
    },
  ),
  scenario(
    "a turn that uses tools without end is ended",
    { verifies: ["events.error.tool-use-limit"], needs: ["scripted-model"] },
    async (t) => {
      const session = await newSession(t);
      const steps = JSON.stringify(
        Array.from({ length: ROUNDS }, () => ({ tool: "no_such_tool" })),
      );
      const watch = await Watch.open(t, session.id);
      await sendText(t, session.id, script(steps));
      const turn = await watch.turn();
      const { error } = onlyOf(turn, "session.error");
      assertHas(error, {
        type: "tool_use_limit_reached_error",
        retry_status: { type: "exhausted" },
      });
      assertHas(turn.at(-1) ?? {}, { stop_reason: { type: "retries_exhausted" } });
      await watch.close();
      await assertWorks(t, session.id);
    },
  ),
];

/** The failure is counted by the conversation, so each of them is one of its own. */
function failingOnce(t: Target, kind: string): string {
  return script(`- fail: ${kind}\n  times: 1\n  say: ${t.unique("at-last")}`);
}

async function assertWorks(t: Target, sessionId: string): Promise<void> {
  const turn = await runTurn(t, sessionId, script("- say: on we go"));
  assert.deepEqual(onlyOf(turn, "agent.message").content, [{ type: "text", text: "on we go" }]);
}
