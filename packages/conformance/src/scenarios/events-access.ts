import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { accepted, all, assertHas, assertRefused } from "../support/expect.ts";
import { newSession } from "../support/fixtures.ts";
import { busySession, interrupt, send } from "../support/sending.ts";
import { WireStream } from "../support/sse.ts";
import { historyOf, message, runTurn, script } from "../support/turns.ts";
import { eventsOf, onlyOf, typesOf, Watch } from "../support/watch.ts";

/** All types that are persisted, but `session.deleted`, after which there is no history. */
const PERSISTED =
  /^(user|system)\.(message|interrupt|tool_confirmation|custom_tool_result|tool_result|define_outcome)$|^agent\.(message|thinking|tool_use|tool_result|mcp_tool_use|mcp_tool_result|custom_tool_use|thread_message_sent|thread_message_received|thread_context_compacted)$|^session\.((thread_)?status_(running|idle|rescheduled|terminated)|thread_created|error|updated|usage)$|^span\.(model_request_(start|end)|outcome_evaluation_(start|ongoing|end))$/;

/** Who may read and send, and what is sent together or seen at once. */
export const eventsAccess: readonly Scenario[] = [
  scenario(
    "events of a session are there for its own workspace only",
    { verifies: ["events.access.workspace"], needs: ["other-workspace"] },
    async (t) => {
      const session = await newSession(t);
      await runTurn(t, session.id, script("- say: hello"));
      const [thread] = await all(t.client.beta.sessions.threads.list(session.id));
      const base = `/v1/sessions/${session.id}`;
      const reads = [
        `${base}/events`,
        `${base}/events/stream`,
        `${base}/threads`,
        `${base}/threads/${thread?.id}`,
        `${base}/threads/${thread?.id}/events`,
        `${base}/threads/${thread?.id}/stream`,
      ];
      const key = t.key("other-workspace");
      for (const path of reads) {
        const stranger = await t.request("GET", path, { key });
        const nobody = await t.request("GET", path.replace(session.id, "sesn_of_nobody"), { key });
        assertRefused(stranger, { status: 404, type: "not_found_error" });
        assert.equal(nobody.status, 404);
        assert.equal(
          stranger.body.error.message.replaceAll(session.id, "sesn_of_nobody"),
          nobody.body.error.message,
        );
      }
      const body = { events: [message("hello?")] };
      const sent = await t.request("POST", `${base}/events`, { key, body });
      assertRefused(sent, { status: 404 });
      accepted(await t.request("GET", `${base}/events`));
      assert.equal(eventsOf(await historyOf(t, session.id), "user.message").length, 1);
    },
  ),
  scenario(
    "a key that may only read lists and streams events, and sends none",
    { verifies: ["events.access.read-only"], needs: ["read-only-key"] },
    async (t) => {
      const session = await newSession(t);
      await runTurn(t, session.id, script("- say: hello"));
      const key = t.key("read-only-key");
      const path = `/v1/sessions/${session.id}/events`;
      assert.deepEqual(
        accepted(await t.request("GET", path, { key })).data,
        await historyOf(t, session.id),
      );
      const stream = await WireStream.open(t, `${path}/stream`, { authorization: `Bearer ${key}` });
      assert.equal(stream.response.status, 200);
      stream.close();
      const sent = await t.request("POST", path, { key, body: { events: [message("x")] } });
      assertRefused(sent, { status: 403, type: "permission_error" });
    },
  ),
  scenario(
    "an interrupt that is sent with messages ends those before it",
    { verifies: ["events.interrupt.with-input"], rows: [54] },
    async (t) => {
      const session = await newSession(t);
      const watch = await Watch.open(t, session.id);
      const [before, after] = ["- say: never", "- say: after"].map((text) => message(script(text)));
      accepted(await send(t, session.id, [before, { type: "user.interrupt" }, after]));
      await watch.turn(2);
      await watch.close();
      const history = await historyOf(t, session.id);
      const idle = history.findIndex(({ type }) => type === "session.status_idle");
      assert.deepEqual(typesOf(history.slice(0, idle)), [
        "session.status_running",
        "session.thread_status_running",
        "user.message",
        "user.interrupt",
        "session.thread_status_idle",
        "session.usage",
      ]);
      assert.deepEqual(onlyOf(history, "agent.message").content, [{ type: "text", text: "after" }]);
    },
  ),
  scenario(
    "changes of a session are on its stream when they are made, also in the middle of a turn",
    { verifies: ["events.session.updated-live", "events.envelope.types"], rows: [45] },
    async (t) => {
      const { session, watch } = await busySession(t);
      await t.client.beta.sessions.update(session.id, { title: "changed" });
      const updated = await watch.untilType("session.updated");
      assertHas(updated, { title: "changed" });
      await interrupt(t, session.id);
      await watch.turn();
      await watch.close();
      const history = await historyOf(t, session.id);
      const [own] = eventsOf(history, "session.updated");
      assert.equal(own?.id, updated.id);
      for (const { type } of history) assert.match(type, PERSISTED);
    },
  ),
];
