import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { accepted, all, assertHas } from "../support/expect.ts";
import { type Agent, newAgent, newSession } from "../support/fixtures.ts";
import { interrupt, send, sendText } from "../support/sending.ts";
import { historyOf } from "../support/turns.ts";
import { eventsOf, onlyOf, Watch } from "../support/watch.ts";
import type { Target } from "../target.ts";

const DEFERRED = "child threads are not built yet: a session of a coordinator answers 501";
const DEFERRED_WORKFLOWS = "workflow runs are not built yet: a session with them answers 501";

/*
 * The contract does not name the tools by which an agent starts threads and runs. So these scenarios say
 * in words what is to be done, and need a model that finds the tool by itself.
 */

/** Child threads, the advisor and workflow runs. */
export const eventsThreads: readonly Scenario[] = [
  scenario(
    "a child thread is announced, has its own events, and speaks with its parent",
    {
      verifies: [
        "events.session.thread-created",
        "events.session.child-status",
        "events.agent.thread-messages",
        "streams.thread-only",
      ],
      rows: [71, 72],
      deferred: DEFERRED,
    },
    async (t) => {
      const { id, child, watch } = await coordinated(t, "Ask the helper to say hello.");
      const created = await watch.untilType("session.thread_created");
      assertHas(created, { agent_name: child.name, workflow_run_id: null });
      const threadId = created.session_thread_id;
      const own = await Watch.open(t, id, { threadId });
      await watch.turn();
      const status = eventsOf(watch.seen, "session.thread_status_idle");
      assert(status.some(({ session_thread_id }) => session_thread_id === threadId));
      const sent = eventsOf(watch.seen, "agent.thread_message_sent")[0];
      assertHas(sent ?? {}, { to_session_thread_id: threadId, to_agent_name: child.name });
      const { threads } = t.client.beta.sessions;
      const listed = await all(threads.events.list(threadId, { session_id: id }));
      const [received] = eventsOf(listed, "agent.thread_message_received");
      assert(received !== undefined && !("from_agent_name" in received));
      assert.deepEqual(received.content, sent?.content);
      // What a child says to itself is on its own stream alone.
      const history = await historyOf(t, id);
      const words = eventsOf(listed, "agent.message").map((event) => event.id);
      assert.deepEqual(
        history.filter((event) => words.includes(event.id)),
        [],
      );
      await own.close();
      await watch.close();
    },
  ),
  scenario(
    "a child's call that needs the client is cross-posted, and its answer finds it by its id",
    {
      verifies: ["events.agent.cross-posted", "events.answers.echo-thread", "wrong.18.echo-thread"],
      rows: [73],
      deferred: DEFERRED,
    },
    async (t) => {
      const { id, watch } = await coordinated(t, "Let the helper run `echo hi`.", "always_ask");
      const call = await watch.untilType("agent.tool_use");
      const threadId = call.session_thread_id;
      assert(typeof threadId === "string", "the cross-posted call names no thread");
      const event = { type: "user.tool_confirmation", tool_use_id: call.id, result: "allow" };
      const [echo] = accepted(await send(t, id, [event])).data;
      assert.equal(echo.session_thread_id, threadId);
      const { threads } = t.client.beta.sessions;
      const own = await all(threads.events.list(threadId, { session_id: id }));
      const [same] = eventsOf(own, "agent.tool_use");
      assert(same !== undefined && typeof same.session_thread_id !== "string");
      await watch.close();
    },
  ),
  scenario(
    "archiving or interrupting one thread leaves the others as they are",
    { verifies: ["events.interrupt.children"], rows: [74], deferred: DEFERRED },
    async (t) => {
      const { id, watch } = await coordinated(t, "Let the helper run `sleep 300`.");
      const { session_thread_id } = await watch.untilType("session.thread_created");
      accepted(await send(t, id, [{ type: "user.interrupt", session_thread_id }]));
      await watch.until(
        (event) =>
          event.type === "session.thread_status_idle" &&
          event.session_thread_id === session_thread_id,
      );
      const { threads } = t.client.beta.sessions;
      await threads.archive(session_thread_id, { session_id: id });
      const gone = await watch.untilType("session.thread_status_terminated");
      assert.equal(gone.session_thread_id, session_thread_id);
      assert.notEqual((await t.client.beta.sessions.retrieve(id)).status, "terminated");
      // Without a thread it is for all that are left.
      await interrupt(t, id);
      await watch.turn();
      await watch.close();
    },
  ),
  scenario(
    "an advisor has a thread of its own, and its advice comes as a message",
    { verifies: ["events.agent.thread-messages"], rows: [75], deferred: DEFERRED },
    async (t) => {
      const agent = await newAgent(t, {
        multiagent: {
          type: "multiagent_20261001",
          advisor: { type: "enabled", model: t.model },
          subagents: { type: "disabled" },
          workflows: { type: "disabled" },
        },
      });
      const session = await newSession(t, { agent: agent.id });
      const watch = await Watch.open(t, session.id);
      await sendText(t, session.id, "Ask your advisor whether to say hello, and then say it.");
      const advice = await watch.untilType("agent.thread_message_received");
      assert(advice.content.length > 0);
      await watch.turn();
      await watch.close();
    },
  ),
  scenario(
    "a workflow run is announced first, pairs its phases, and says last how it ended",
    {
      verifies: [
        "events.workflow.created",
        "events.workflow.phases",
        "events.workflow.ended",
        "events.workflow.error",
        "events.workflow.threads",
      ],
      rows: [76],
      deferred: DEFERRED_WORKFLOWS,
    },
    async (t) => {
      const agent = await newAgent(t, {
        multiagent: { type: "multiagent_20261001", workflows: { type: "enabled" } },
      });
      const { id } = await newSession(t, { agent: agent.id });
      const watch = await Watch.open(t, id);
      await sendText(t, id, "Start a workflow run of one phase whose only agent says hello.");
      const ended = await watch.untilType("workflow_run.status_ended");
      const run = watch.seen.filter(
        (event) => "workflow_run_id" in event && event.workflow_run_id === ended.workflow_run_id,
      );
      const own = run.filter(({ type }) => type.startsWith("workflow_run."));
      assertHas(own[0] ?? {}, { type: "workflow_run.created" });
      assert.equal(own.at(-1), ended);
      const created = onlyOf(own, "workflow_run.created");
      assert(Array.isArray(created.phases));
      const started = eventsOf(own, "workflow_run.phase_started").map((event) => event.id);
      const over = eventsOf(own, "workflow_run.phase_ended").map((event) => event.phase_started_id);
      assert.deepEqual(over.toSorted(), started.toSorted());
      const [error] = eventsOf(own, "workflow_run.error");
      if (ended.result.type === "error") assert.deepEqual(error?.error, ended.result.error);
      else assert.equal(error, undefined);
      const threads = await all(t.client.beta.sessions.threads.list(id));
      for (const thread of threads.filter(({ workflow_run_id }) => workflow_run_id !== null)) {
        assert.equal(thread.status, "terminated");
      }
      await watch.close();
    },
  ),
];

/** A session whose agent may start one other, told to do something with it. */
async function coordinated(
  t: Target,
  task: string,
  policy: "always_allow" | "always_ask" = "always_allow",
): Promise<{ id: string; child: Agent; watch: Watch }> {
  const default_config = { permission_policy: { type: policy } };
  const child = await newAgent(t, { tools: [{ type: "agent_toolset_20260401", default_config }] });
  const agents = [child.id];
  const agent = await newAgent(t, { multiagent: { type: "coordinator", agents } });
  const { id } = await newSession(t, { agent: agent.id });
  const watch = await Watch.open(t, id);
  await sendText(t, id, task);
  return { id, child, watch };
}
