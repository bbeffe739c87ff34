import assert from "node:assert/strict";
import {
  type AccumulatedEvent,
  accumulateManagedAgentsEvent,
} from "@anthropic-ai/sdk/lib/sessions/accumulate";
import { type Scenario, scenario } from "../scenario.ts";
import { all, assertRefused } from "../support/expect.ts";
import { newSession } from "../support/fixtures.ts";
import { interrupt, sendText } from "../support/sending.ts";
import { WireStream } from "../support/sse.ts";
import { historyOf, script } from "../support/turns.ts";
import { eventsOf, onlyOf, type StreamEvent, typesOf, Watch } from "../support/watch.ts";

const SPOKEN =
  "Zwölf Boxkämpfer 🥊 jagen Viktor 👩‍👩‍👧‍👦 quer über den großen Sylter Deich, und mehr.";
const TALK = script(`
delay_ms: 3
steps:
  - think: First I think about it for a while.
    say: "${SPOKEN}"
    tool: bash
    input: { command: "echo hi" }
  - think: And again.
    say: "Second: ${SPOKEN}"
`);
const BOTH = ["agent.message", "agent.thinking"] as const;

export const streamsPreviews: readonly Scenario[] = [
  scenario(
    "a message is previewed under its id, and the official accumulator makes it of the parts",
    {
      verifies: [
        "streams.previews.form",
        "streams.previews.same-id",
        "streams.previews.prefix",
        "streams.previews.indices",
        "streams.previews.one-at-a-time",
        "streams.previews.start-once",
        "streams.previews.accumulate",
        "streams.previews.no-own-fields",
        "wrong.19.preview-ids",
      ],
      rows: [50],
      needs: ["scripted-model"],
    },
    async (t) => {
      const session = await newSession(t);
      const watch = await Watch.open(t, session.id, { previews: ["agent.message"] });
      await sendText(t, session.id, TALK);
      const turn = await watch.turn();
      await watch.close();
      assertFormOfPreviews(turn);
      const messages = eventsOf(turn, "agent.message");
      const started = eventsOf(turn, "event_start").map(({ event }) => event.id);
      assert.deepEqual(
        started,
        messages.map(({ id }) => id),
      );
      const parts = eventsOf(turn, "event_delta");
      for (const { id } of messages) {
        const indices = parts
          .filter((part) => part.event_id === id)
          .map(({ delta }) => delta.index ?? 0);
        assert(indices.length > 2, `${indices.length} deltas of a message of many tokens`);
        assert.deepEqual(new Set(indices), new Set([0]));
      }
      let accumulated: AccumulatedEvent | undefined;
      let open: string | undefined;
      for (const event of turn) {
        const before = accumulated;
        accumulated = accumulateManagedAgentsEvent(before, event);
        if (event.type === "event_start") open = event.event.id;
        if (event.type === "event_delta") assert.equal(event.event_id, open);
        if (event.type !== "agent.message") continue;
        assert.equal(before?.id, event.id);
        assert(
          textOf(event).startsWith(textOf(before)),
          "the preview is no beginning of the message",
        );
        assert.deepEqual(before?.content, event.content);
        assert.deepEqual(accumulated, event);
      }
    },
  ),
  scenario(
    "previews come in their place of the turn",
    { verifies: ["streams.previews.place"], rows: [49, 50], needs: ["scripted-model"] },
    async (t) => {
      const session = await newSession(t);
      const watch = await Watch.open(t, session.id, { previews: BOTH });
      await sendText(t, session.id, TALK);
      const turn = await watch.turn();
      await watch.close();
      const runs = typesOf(turn).filter((type, at, types) => type !== types[at - 1]);
      const request = [
        "span.model_request_start",
        "event_start",
        "event_delta",
        "agent.thinking",
        "agent.message",
      ];
      assert.deepEqual(runs, [
        "user.message",
        "session.status_running",
        "session.thread_status_running",
        "user.message",
        ...request,
        "agent.tool_use",
        "span.model_request_end",
        "agent.tool_result",
        ...request,
        "span.model_request_end",
        "session.thread_status_idle",
        "session.usage",
        "session.status_idle",
      ]);
    },
  ),
  scenario(
    "thinking is previewed by its start alone, under the id of its event",
    { verifies: ["streams.previews.thinking"], rows: [51], needs: ["scripted-model"] },
    async (t) => {
      const session = await newSession(t);
      const watch = await Watch.open(t, session.id, { previews: ["agent.thinking"] });
      await sendText(t, session.id, TALK);
      const turn = await watch.turn();
      await watch.close();
      assertFormOfPreviews(turn);
      assert.deepEqual(eventsOf(turn, "event_delta"), []);
      const started = eventsOf(turn, "event_start").map(({ event }) => event);
      const events = eventsOf(turn, "agent.thinking");
      assert.equal(events.length, 2);
      assert.deepEqual(
        started,
        events.map(({ id, type }) => ({ id, type })),
      );
    },
  ),
  scenario(
    "who does not ask sees no previews, and nobody finds them in the history",
    {
      verifies: [
        "streams.previews.opt-in",
        "streams.previews.per-connection",
        "streams.previews.history",
        "events.list.no-previews",
      ],
      rows: [52],
      needs: ["scripted-model"],
    },
    async (t) => {
      const session = await newSession(t);
      const plain = await Watch.open(t, session.id);
      const curious = await Watch.open(t, session.id, { previews: BOTH });
      const empty = await Watch.open(t, session.id, { previews: [] });
      await sendText(t, session.id, TALK);
      const seen = (await curious.turn()).filter((event) => !isPreview(event));
      assert(seen.length < curious.seen.length);
      assert.deepEqual(await plain.turn(), seen);
      assert.deepEqual(await empty.turn(), seen);
      const history = await historyOf(t, session.id);
      assert.deepEqual(
        history.filter(({ type }) => type.startsWith("event_")),
        [],
      );
      await Promise.all([plain.close(), curious.close(), empty.close()]);
    },
  ),
  scenario(
    "event_deltas[] takes its two values, a hundred times at most",
    {
      verifies: ["streams.previews.parameter", "streams.previews.parameter-max"],
      rows: [50],
    },
    async (t) => {
      const session = await newSession(t);
      const path = `/v1/sessions/${session.id}/events/stream`;
      const times = (count: number) => Array(count).fill("event_deltas[]=agent.message").join("&");
      const bad = ["agent.tool_use", "message", "all", "agent.message,agent.thinking"];
      for (const query of [...bad.map((value) => `event_deltas[]=${value}`), times(101)]) {
        assertRefused(await t.request("GET", `${path}?${query}`), {
          status: 400,
          says: /event_deltas/,
        });
      }
      const good = [
        times(100),
        "event_deltas[]=agent.message&event_deltas[]=agent.thinking",
        "event_deltas=agent.message&event_deltas=agent.thinking",
        "event_deltas=agent.thinking",
      ];
      for (const query of good) {
        const stream = await WireStream.open(t, `${path}?${query}`);
        assert.equal(stream.response.status, 200, query.slice(0, 100));
        stream.close();
      }
    },
  ),
  scenario(
    "the preview of a request that is interrupted ends with the request's span",
    {
      verifies: ["streams.previews.interrupt", "wrong.19.closed-by-span"],
      rows: [53],
      needs: ["scripted-model"],
    },
    async (t) => {
      const session = await newSession(t);
      const watch = await Watch.open(t, session.id, { previews: BOTH });
      const words = "far too many words ".repeat(300);
      await sendText(t, session.id, script(`- think: hm\n  say: ${words}\n  delay_ms: 20`));
      const { event_id } = await watch.untilType("event_delta");
      await interrupt(t, session.id);
      const turn = await watch.turn();
      assert.deepEqual(eventsOf(turn, "agent.message"), []);
      assert.deepEqual(eventsOf(turn, "agent.thinking"), []);
      const end = onlyOf(turn, "span.model_request_end");
      assert.equal(end.is_error, true);
      const after = turn.slice(turn.indexOf(end));
      assert.deepEqual(after.filter(isPreview), []);
      const history = await historyOf(t, session.id);
      assert(!history.some(({ id }) => id === event_id));
      await sendText(t, session.id, script("- say: anew"));
      const second = (await watch.turn(2)).slice(turn.length);
      assert.notEqual(onlyOf(second, "event_start").event.id, event_id);
      await watch.close();
    },
  ),
  scenario(
    "a thread's stream previews that thread",
    { verifies: ["streams.previews.thread"], rows: [50], needs: ["scripted-model"] },
    async (t) => {
      const session = await newSession(t);
      const [primary] = await all(t.client.beta.sessions.threads.list(session.id));
      const threadId = primary?.id ?? "";
      const watch = await Watch.open(t, session.id, { previews: BOTH, threadId });
      await sendText(t, session.id, TALK);
      const turn = await watch.turn();
      assertFormOfPreviews(turn);
      assert.equal(eventsOf(turn, "event_start").length, 4);
      await watch.close();
    },
  ),
];

function isPreview({ type }: StreamEvent): boolean {
  return type === "event_start" || type === "event_delta";
}

/** Previews have what the contract gives them and nothing more, and each starts once before its parts. */
function assertFormOfPreviews(events: readonly StreamEvent[]): void {
  const started = new Set<string>();
  for (const event of events) {
    if (event.type === "event_start") {
      assert.deepEqual(Object.keys(event).toSorted(), ["event", "type"]);
      assert.deepEqual(Object.keys(event.event).toSorted(), ["id", "type"]);
      assert(!started.has(event.event.id), `a second start of ${event.event.id}`);
      started.add(event.event.id);
    }
    if (event.type === "event_delta") {
      assert.deepEqual(Object.keys(event).toSorted(), ["delta", "event_id", "type"]);
      assert.equal(event.delta.type, "content_delta");
      assert.equal(event.delta.content.type, "text");
      assert(started.has(event.event_id), `a delta of ${event.event_id} before its start`);
    }
  }
}

function textOf(event: AccumulatedEvent | undefined): string {
  return (event?.content ?? []).map((block) => ("text" in block ? block.text : "")).join("");
}
