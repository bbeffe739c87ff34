import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { accepted, all, assertHas, assertRefused, assertTime } from "../support/expect.ts";
import { newSession } from "../support/fixtures.ts";
import { busySession, interrupt, send } from "../support/sending.ts";
import { historyOf, message, runTurn, script } from "../support/turns.ts";
import { eventsOf, onlyOf, typesOf, Watch } from "../support/watch.ts";

/** What a client sends: queueing, echoes, interrupts. */
export const events: readonly Scenario[] = [
  scenario(
    "what is sent is echoed with the ids that the list and the stream have",
    {
      verifies: [
        "events.send.echo",
        "events.send.ids",
        "events.content.text",
        "events.envelope.client-time",
        "events.envelope.id-and-type",
      ],
      rows: [44],
    },
    async (t) => {
      const session = await newSession(t);
      const watch = await Watch.open(t, session.id);
      const content = [
        { type: "text" as const, text: script("- say: hello") },
        { type: "text" as const, text: "and a second block" },
      ];
      const sent = await t.client.beta.sessions.events.send(session.id, {
        events: [{ type: "user.message", content }],
      });
      const [echo, ...others] = sent.data ?? [];
      assert(echo !== undefined);
      assert.equal(others.length, 0);
      const { id, ...body } = echo;
      assert.match(id, /^\w+$/);
      assert.deepEqual(body, { type: "user.message", content, processed_at: null });
      const turn = await watch.turn();
      const forms = eventsOf(turn, "user.message");
      assert.deepEqual(
        forms.map((form) => form.id),
        [id, id],
      );
      assert.equal(forms[0]?.processed_at, null);
      assertTime(forms[1]?.processed_at);
      const listed = onlyOf(await historyOf(t, session.id), "user.message");
      assert.deepEqual(listed, forms[1]);
      const idle = onlyOf(turn, "session.status_idle");
      assert.deepEqual(idle.stop_reason, { type: "end_turn" });
      await watch.close();
    },
  ),
  scenario(
    "several events of one request are echoed and taken up in their order",
    { verifies: ["events.message.order"], rows: [44] },
    async (t) => {
      const session = await newSession(t);
      const watch = await Watch.open(t, session.id);
      const texts = [script("- say: done"), "first", "second", "third"];
      const sent = await t.client.beta.sessions.events.send(session.id, {
        events: texts.map(message),
      });
      const ids = (sent.data ?? []).map(({ id }) => id);
      assert.equal(new Set(ids).size, texts.length);
      await watch.turn();
      await watch.close();
      const history = eventsOf(await historyOf(t, session.id), "user.message");
      assert.deepEqual(
        history.map(({ id }) => id),
        ids,
      );
    },
  ),
  scenario(
    "a message that is sent in the middle of a turn waits and is taken up with the same id",
    { verifies: ["events.message.queued-while-running", "events.envelope.client-time"] },
    async (t) => {
      const { session, watch } = await busySession(t);
      const { events: api } = t.client.beta.sessions;
      const sent = await api.send(session.id, { events: [message(script("- say: meanwhile"))] });
      const id = sent.data?.[0]?.id;
      const waiting = (await historyOf(t, session.id)).find((event) => event.id === id);
      assertHas(waiting ?? {}, { type: "user.message", processed_at: null });
      await interrupt(t, session.id);
      // The turn that was interrupted, then that of the message that waited.
      await watch.turn(2);
      await watch.close();
      const taken = (await historyOf(t, session.id)).find((event) => event.id === id);
      assertTime(onlyOf([taken ?? { type: "" }], "user.message").processed_at);
    },
  ),
  scenario(
    "a request with one event that is refused has no effect at all",
    {
      verifies: [
        "events.send.all-or-nothing",
        "events.send.body",
        "events.message.content-required",
      ],
    },
    async (t) => {
      const session = await newSession(t);
      const good = message("hello");
      const bad = [
        { type: "user.message", content: [] },
        { type: "user.message" },
        { type: "user.interrupt", session_thread_id: "sthr_of_nobody" },
      ];
      for (const event of bad) {
        assertRefused(await send(t, session.id, [good, event]), {
          status: 400,
          type: "invalid_request_error",
          says: /events\.1/,
        });
      }
      const path = `/v1/sessions/${session.id}/events`;
      for (const body of [{}, { events: [] }, { events: good }, [good]]) {
        assertRefused(await t.request("POST", path, { body }), { status: 400 });
      }
      assert.deepEqual(await historyOf(t, session.id), []);
      assert.equal((await t.client.beta.sessions.retrieve(session.id)).status, "idle");
      accepted(await send(t, session.id, [good]));
    },
  ),
  scenario(
    "types and fields that a client does not send are refused by name",
    {
      verifies: [
        "events.direction.client-types",
        "events.direction.server-types",
        "events.send.unknown-fields",
      ],
    },
    async (t) => {
      const session = await newSession(t);
      const serverTypes = ["agent.message", "session.status_idle", "span.model_request_start"];
      for (const type of [...serverTypes, "event_delta", "user.mesage", 7, null]) {
        const answer = await send(t, session.id, [{ type, content: message("x").content }]);
        assertRefused(answer, { status: 400, says: /events\.0\.type/ });
      }
      const clientTypes = {
        "user.message": { content: message("x").content },
        "user.interrupt": {},
        "user.tool_confirmation": { tool_use_id: "sevt_x", result: "allow" },
        "user.custom_tool_result": { custom_tool_use_id: "sevt_x" },
        "user.tool_result": { tool_use_id: "sevt_x" },
        "user.define_outcome": { description: "x", rubric: { type: "text", content: "x" } },
        "system.message": { content: message("x").content },
      };
      for (const [type, fields] of Object.entries(clientTypes)) {
        const answer = await send(t, session.id, [{ type, ...fields, colour: "red" }]);
        assertRefused(answer, { status: 400, says: /events\.0\.colour/ });
      }
      accepted(
        await send(t, session.id, [{ type: "user.message", content: message("x").content }]),
      );
    },
  ),
  scenario(
    "an interrupt ends a running turn, and its input with it",
    {
      verifies: ["events.interrupt.ends-turn", "events.interrupt.absent-thread"],
      rows: [54],
    },
    async (t) => {
      for (const extra of [{}, { session_thread_id: null }]) {
        const { session, watch } = await busySession(t);
        const answer = await send(t, session.id, [{ type: "user.interrupt", ...extra }]);
        const [echo] = accepted(answer).data;
        assertHas(echo, { type: "user.interrupt", processed_at: null });
        const turn = await watch.turn();
        assertHas(onlyOf(turn, "session.status_idle"), {
          stop_reason: { type: "end_turn" },
          stop_details: null,
        });
        assert.deepEqual(eventsOf(turn, "agent.message"), []);
        const end = onlyOf(turn, "span.model_request_end");
        assert.equal(end.is_error, true);
        const taken = eventsOf(turn, "user.interrupt").at(-1);
        assert.equal(taken?.id, echo.id);
        assertTime(taken?.processed_at);
        assert.equal(turn.at(-1)?.type, "session.status_idle");
        await watch.close();
      }
    },
  ),
  scenario(
    "an interrupt may name its thread, if it is one of the session",
    { verifies: ["events.interrupt.named-thread"], rows: [54] },
    async (t) => {
      const { session, watch } = await busySession(t);
      const other = await newSession(t);
      const [own] = await all(t.client.beta.sessions.threads.list(session.id));
      const [foreign] = await all(t.client.beta.sessions.threads.list(other.id));
      for (const threadId of ["sthr_of_nobody", foreign?.id, ""]) {
        const event = { type: "user.interrupt", session_thread_id: threadId };
        assertRefused(await send(t, session.id, [event]), {
          status: 400,
          says: /session_thread_id/,
        });
      }
      assert.equal((await t.client.beta.sessions.retrieve(session.id)).status, "running");
      const named = { type: "user.interrupt", session_thread_id: own?.id };
      const [echo] = accepted(await send(t, session.id, [named])).data;
      assert.equal(echo.session_thread_id, own?.id);
      assertHas(onlyOf(await watch.turn(), "session.status_idle"), {
        stop_reason: { type: "end_turn" },
      });
      await watch.close();
    },
  ),
  scenario(
    "an interrupt overtakes what waits, which the next turn takes up",
    { verifies: ["events.interrupt.jumps-queue"], rows: [54] },
    async (t) => {
      const { session, watch } = await busySession(t);
      await t.client.beta.sessions.events.send(session.id, {
        events: [message(script("- say: after the interrupt"))],
      });
      await interrupt(t, session.id);
      await watch.turn(2);
      await watch.close();
      const history = await historyOf(t, session.id);
      const firstIdle = history.findIndex(({ type }) => type === "session.status_idle");
      const second = history.slice(firstIdle + 1);
      assert.equal(eventsOf(history.slice(0, firstIdle), "user.interrupt").length, 1);
      assert.deepEqual(
        [eventsOf(second, "user.message").length, eventsOf(second, "user.interrupt").length],
        [1, 0],
      );
      assert.deepEqual(onlyOf(second, "agent.message").content, [
        { type: "text", text: "after the interrupt" },
      ]);
    },
  ),
  scenario(
    "an interrupt of an idle session changes nothing but the history",
    { verifies: ["events.interrupt.idle"], rows: [54] },
    async (t) => {
      const session = await newSession(t);
      const turn = await runTurn(t, session.id, script("- say: hello"));
      const watch = await Watch.open(t, session.id);
      const id = await interrupt(t, session.id);
      await watch.until((event) => event.type === "user.interrupt" && event.processed_at !== null);
      assert.equal((await t.client.beta.sessions.retrieve(session.id)).status, "idle");
      const later = (await historyOf(t, session.id)).slice(turn.length - 1);
      assert.deepEqual(typesOf(later), ["user.interrupt"]);
      assert.equal(later[0]?.id, id);
      await t.client.beta.sessions.events.send(session.id, {
        events: [message(script("- say: still there"))],
      });
      const second = await watch.turn();
      assert.equal(onlyOf(second, "agent.message").content.length, 1);
      await watch.close();
    },
  ),
  scenario(
    "an interrupt answers a running call with an error and does not wait for it",
    { verifies: ["events.interrupt.calls"], rows: [54] },
    async (t) => {
      const session = await newSession(t);
      const watch = await Watch.open(t, session.id);
      const slow = script('- tool: bash\n  input: { command: "sleep 300" }\n- say: never');
      await t.client.beta.sessions.events.send(session.id, { events: [message(slow)] });
      const call = await watch.untilType("agent.tool_use");
      await interrupt(t, session.id);
      const turn = await watch.turn();
      await watch.close();
      assertHas(onlyOf(turn, "agent.tool_result"), { tool_use_id: call.id, is_error: true });
      assert.deepEqual(eventsOf(turn, "agent.message"), []);
      assertHas(turn.at(-1) ?? {}, { stop_reason: { type: "end_turn" } });
    },
  ),
];
