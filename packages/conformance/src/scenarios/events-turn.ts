import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { all, assertHas, assertRefused, assertTime } from "../support/expect.ts";
import { newAgent, newSession } from "../support/fixtures.ts";
import { send } from "../support/sending.ts";
import { historyOf, message, runTurn, script } from "../support/turns.ts";
import { eventsOf, onlyOf, typesOf, Watch } from "../support/watch.ts";

const TURN = [
  "session.status_running",
  "session.thread_status_running",
  "user.message",
  "span.model_request_start",
  "agent.thinking",
  "agent.message",
  "agent.tool_use",
  "span.model_request_end",
  "agent.tool_result",
  "span.model_request_start",
  "agent.message",
  "span.model_request_end",
  "session.thread_status_idle",
  "session.usage",
  "session.status_idle",
];
const ECHO = script(`
- think: I should look.
  say: Let me look.
  tool: bash
  input: { command: "echo hi" }
- say: "It says {{result | trim}}."
`);

/** What a turn emits, and what each of its events has. */
export const eventsTurn: readonly Scenario[] = [
  scenario(
    "a turn comes in its order, and its idle is the last of it",
    {
      verifies: [
        "events.turn.order",
        "choices.turn.order",
        "events.turn.idle-last",
        "events.turn.spans-around",
        "events.stop.end-turn",
        "events.session.idle",
        "events.agent.message",
        "events.agent.thinking",
        "events.agent.tool-use",
        "events.agent.tool-result",
        "events.agent.always-allow",
        "events.agent.own-thread",
        "events.envelope.server-time",
        "events.envelope.id-and-type",
        "events.span.pairs",
      ],
      rows: [49],
    },
    async (t) => {
      const session = await newSession(t);
      const seen = (await runTurn(t, session.id, ECHO)).filter(
        (event) => event.processed_at !== null,
      );
      assert.deepEqual(typesOf(seen), TURN);
      const history = await historyOf(t, session.id);
      assert.deepEqual(history, seen);
      assert.equal(new Set(seen.map(({ id }) => id)).size, seen.length);
      for (const event of seen) {
        assert.match(event.id, /^\w+$/);
        assertTime(event.processed_at);
      }
      const idle = { stop_reason: { type: "end_turn" }, stop_details: null };
      assert.deepEqual(bodyOf(onlyOf(seen, "session.status_idle")), idle);
      assert.deepEqual(bodyOf(onlyOf(seen, "session.status_running")), {});
      assert.deepEqual(bodyOf(onlyOf(seen, "agent.thinking")), {});
      const call = onlyOf(seen, "agent.tool_use");
      assert.deepEqual(bodyOf(call), {
        name: "bash",
        input: { command: "echo hi" },
        evaluated_permission: "allow",
        evaluation: { type: "always_allow" },
      });
      const result = onlyOf(seen, "agent.tool_result");
      assertHas(result, { tool_use_id: call.id, is_error: false });
      assertHas(result.content?.[0] ?? {}, { type: "text" });
      const [first, second] = eventsOf(seen, "agent.message");
      assert.deepEqual(bodyOf(first), { content: [{ type: "text", text: "Let me look." }] });
      assert.deepEqual(bodyOf(second), { content: [{ type: "text", text: "It says hi." }] });
      const starts = eventsOf(seen, "span.model_request_start").map(({ id }) => id);
      const ends = eventsOf(seen, "span.model_request_end");
      assert.deepEqual(
        ends.map((end) => end.model_request_start_id),
        starts,
      );
    },
  ),
  scenario(
    "spans tell their tokens, and usage adds them up as the session shows them",
    {
      verifies: [
        "events.span.usage",
        "events.span.is-error",
        "events.session.usage",
        "wrong.16.usage",
      ],
      rows: [49],
    },
    async (t) => {
      const session = await newSession(t);
      const first = await runTurn(t, session.id, script("- say: one"));
      const second = await runTurn(t, session.id, script("- say: another one, which is longer"));
      const ends = [
        ...eventsOf(first, "span.model_request_end"),
        onlyOf(second, "span.model_request_end"),
      ];
      for (const end of ends) {
        assert.equal(end.is_error, false);
        const { input_tokens, output_tokens } = end.model_usage;
        const { cache_creation_input_tokens, cache_read_input_tokens } = end.model_usage;
        for (const count of [
          input_tokens,
          output_tokens,
          cache_creation_input_tokens,
          cache_read_input_tokens,
        ]) {
          assert(Number.isInteger(count) && count >= 0, `${count} tokens`);
        }
        assert(input_tokens > 0 && output_tokens > 0);
      }
      const sum = (name: "input_tokens" | "output_tokens") =>
        ends.reduce((total, end) => total + end.model_usage[name], 0);
      const { usage } = onlyOf(second, "session.usage");
      assert.equal(usage.input_tokens, sum("input_tokens"));
      assert.equal(usage.output_tokens, sum("output_tokens"));
      assert(typeof usage.active_seconds === "number" && usage.active_seconds >= 0);
      const shown = (await t.client.beta.sessions.retrieve(session.id)).usage;
      assertHas(shown, { input_tokens: usage.input_tokens, output_tokens: usage.output_tokens });
    },
  ),
  scenario(
    "thread status events name thread and agent, the primary thread's first",
    {
      verifies: [
        "events.session.thread-status",
        "events.session.thread-idle",
        "events.session.primary-first",
        "events.session.thread-stream",
        "wrong.34.primary-thread",
      ],
      rows: [49],
    },
    async (t) => {
      const agent = await newAgent(t);
      const session = await newSession(t, { agent: agent.id });
      const [primary, ...children] = await all(t.client.beta.sessions.threads.list(session.id));
      assert(primary !== undefined);
      assert.deepEqual(children, []);
      assert.equal(primary.parent_thread_id, null);
      const watch = await Watch.open(t, session.id, { threadId: primary.id });
      const seen = await runTurn(t, session.id, script("- say: hello"));
      const names = { session_thread_id: primary.id, agent_name: agent.name };
      const running = onlyOf(seen, "session.thread_status_running");
      assert.deepEqual(bodyOf(running), names);
      assert.deepEqual(bodyOf(onlyOf(seen, "session.thread_status_idle")), {
        ...names,
        stop_reason: { type: "end_turn" },
        stop_details: null,
      });
      const history = await historyOf(t, session.id);
      const [first] = history.filter(({ type }) => type.startsWith("session.thread_status_"));
      assert.equal(first?.id, running.id);
      const own = await watch.turn();
      assert.deepEqual(
        own.filter(({ type }) => type.startsWith("session.thread_status_")),
        seen.filter(({ type }) => type.startsWith("session.thread_status_")),
      );
      await watch.close();
    },
  ),
  scenario(
    "a tool that is not enabled is not run, and its call is answered with an error",
    { verifies: ["events.agent.not-enabled", "events.agent.denied-call"], rows: [61] },
    async (t) => {
      const configs = [{ name: "bash" as const, enabled: false }];
      const agent = await newAgent(t, { tools: [{ type: "agent_toolset_20260401", configs }] });
      const session = await newSession(t, { agent: agent.id });
      const seen = await runTurn(
        t,
        session.id,
        script(`
- parallel:
    - { tool: bash, input: { command: "echo hi > /workspace/ran" } }
    - { tool: glob, input: { pattern: "ran" } }
- say: "{{result.2}}"`),
      );
      const [denied, allowed] = eventsOf(seen, "agent.tool_use");
      assert(denied !== undefined && allowed !== undefined);
      assert.equal(denied.evaluated_permission, "deny");
      assert(!("evaluation" in denied), "evaluation is there though no policy applied");
      assert.equal(allowed.evaluated_permission, "allow");
      const resultOf = (id: string) =>
        eventsOf(seen, "agent.tool_result").find((result) => result.tool_use_id === id);
      assert.equal(resultOf(denied.id)?.is_error, true);
      assert((resultOf(denied.id)?.content ?? []).length > 0);
      assert.equal(resultOf(allowed.id)?.is_error, false);
      const said = JSON.stringify(onlyOf(seen, "agent.message").content);
      assert.doesNotMatch(said, /workspace/);
    },
  ),
  scenario(
    "calls of one response have an event and a result each",
    { verifies: ["events.agent.parallel", "events.agent.tool-error"], rows: [49] },
    async (t) => {
      const session = await newSession(t);
      const seen = await runTurn(
        t,
        session.id,
        script(`
- parallel:
    - { tool: bash, input: { command: "echo one" } }
    - { tool: bash, input: { command: "echo two; exit 3" } }
    - { tool: read, input: { file_path: /workspace/nothing-here } }
- say: "{{result.1 | trim}}, {{result.2 | line 1}}"`),
      );
      const calls = eventsOf(seen, "agent.tool_use");
      const results = eventsOf(seen, "agent.tool_result");
      assert.deepEqual(
        calls.map(({ name }) => name),
        ["bash", "bash", "read"],
      );
      assert.equal(results.length, 3);
      const isError = calls.map(
        ({ id }) => results.find(({ tool_use_id }) => tool_use_id === id)?.is_error,
      );
      assert.deepEqual(isError, [false, true, true]);
      assert.deepEqual(onlyOf(seen, "agent.message").content, [{ type: "text", text: "one, two" }]);
    },
  ),
  scenario(
    "session.updated tells what changed, and nothing else",
    { verifies: ["events.session.updated", "events.session.updated-absent", "wrong.15.omitted"] },
    async (t) => {
      const { sessions } = t.client.beta;
      const session = await newSession(t, { title: "old", metadata: { a: "1" } });
      await sessions.update(session.id, { title: "new" });
      await sessions.update(session.id, { metadata: { b: "2" } });
      await sessions.update(session.id, { metadata: { a: null, b: null } });
      await sessions.update(session.id, { title: "new" });
      const told = eventsOf(await historyOf(t, session.id), "session.updated").map(bodyOf);
      assert.deepEqual(told.slice(0, 2), [{ title: "new" }, { metadata: { a: "1", b: "2" } }]);
      assert.deepEqual(told[2], {});
      assert.equal(told.length, 3);
    },
  ),
  scenario(
    "archiving tells that thread and session are terminated, which take nothing more",
    {
      verifies: [
        "events.session.terminated",
        "events.session.terminated-input",
        "events.session.status",
      ],
    },
    async (t) => {
      const session = await newSession(t);
      await runTurn(t, session.id, script("- say: hello"));
      const watch = await Watch.open(t, session.id);
      await t.client.beta.sessions.archive(session.id);
      const terminated = await watch.untilType("session.status_terminated");
      assert.deepEqual(bodyOf(terminated), {});
      assert.deepEqual(typesOf(watch.seen), [
        "session.thread_status_terminated",
        "session.status_terminated",
      ]);
      const history = await historyOf(t, session.id);
      assert.deepEqual(history.slice(-2), watch.seen);
      const answer = await send(t, session.id, [message("hello?")]);
      assertRefused(answer, { status: 400, says: /archived|terminated/ });
      assertRefused(await send(t, session.id, [{ type: "user.interrupt" }]), { status: 400 });
      await watch.close();
    },
  ),
];

/** What an event has beyond what all of them have. */
function bodyOf(event: object | undefined): object {
  const {
    id: _id,
    type: _type,
    processed_at: _at,
    ...body
  } = { ...event } as Record<string, unknown>;
  return body;
}
