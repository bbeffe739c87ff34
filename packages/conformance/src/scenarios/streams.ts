import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { all, assertHas, assertRefused, refused } from "../support/expect.ts";
import { newSession } from "../support/fixtures.ts";
import { sendText } from "../support/sending.ts";
import { isPing, WireStream } from "../support/sse.ts";
import { historyOf, message, runTurn, type SessionEvent, script } from "../support/turns.ts";
import { eventsOf, type StreamEvent, typesOf, Watch } from "../support/watch.ts";

const STATUS_IDLE = "session.status_idle";
/** Together more than connections buffer by themselves. */
const LARGE_TEXT = "x".repeat(700_000);
const LARGE_COUNT = 6;
/** Rounds of a turn that others join in the middle of it. */
const ROUNDS = 40;
const READERS = 40;

export const streams: readonly Scenario[] = [
  scenario(
    "a stream answers at once, and its frames have name, data and blank line",
    {
      verifies: [
        "streams.headers-at-once",
        "streams.content-type",
        "streams.event-line",
        "streams.data-line",
        "streams.blank-line",
        "wrong.1.frames",
        "wrong.2.headers",
      ],
      rows: [45],
    },
    async (t) => {
      const session = await newSession(t);
      const path = `/v1/sessions/${session.id}/events/stream`;
      const stream = await WireStream.open(t, path, { accept: "application/json" });
      assert.equal(stream.response.status, 200);
      assert.match(stream.response.headers.get("content-type") ?? "", /^text\/event-stream/);
      await sendText(t, session.id, script('- say: "two\\nlines, ünïcode 🥊"'));
      const frames = await stream.to(STATUS_IDLE);
      await t.client.beta.sessions.delete(session.id);
      frames.push(...(await stream.to("session.deleted")));
      assert.equal(await stream.next(), undefined);
      assert.equal(stream.unfinished, "");
      for (const { event, data, lines } of frames) {
        assert.equal(JSON.parse(data).type, event);
        assert.equal(lines.filter((line) => line.startsWith("data:")).length, 1);
      }
    },
  ),
  scenario(
    "a stream needs a key, and something to show",
    { verifies: ["streams.auth", "streams.unknown"], rows: [45] },
    async (t) => {
      const { sessions } = t.client.beta;
      const session = await newSession(t);
      const [foreign] = await all(sessions.threads.list((await newSession(t)).id));
      assert(foreign !== undefined);
      const path = `/v1/sessions/${session.id}/events/stream`;
      assertRefused(await t.request("GET", path, { key: null }), { status: 401 });
      const missing = { status: 404, type: "not_found_error" };
      await refused(sessions.events.stream("sesn_of_nobody"), missing);
      for (const threadId of ["sthr_of_nobody", foreign.id]) {
        const params = { session_id: session.id };
        await refused(sessions.threads.events.stream(threadId, params), missing);
      }
      await (await Watch.open(t, session.id)).close();
    },
  ),
  scenario(
    "a stream is live: it shows what happens from when it was opened, and stays open between turns",
    {
      verifies: [
        "streams.live-only",
        "streams.attach",
        "streams.stays-open",
        "streams.order",
        "streams.queued-twice",
        "choices.queued.streamed",
        "streams.session",
      ],
      rows: [45],
    },
    async (t) => {
      const session = await newSession(t);
      const first = await Watch.open(t, session.id);
      await sendText(t, session.id, script("- say: one"));
      const turn = await first.turn();
      const second = await Watch.open(t, session.id);
      await sendText(t, session.id, script("- say: two"));
      const late = await second.turn();
      await first.turn(2);
      const history = await historyOf(t, session.id);
      assert.deepEqual(committed(first.seen), history);
      assert.deepEqual(first.seen.slice(turn.length), late);
      assert.deepEqual(committed(late), history.slice(committed(turn).length));
      const queued = late.filter((event) => !isCommitted(event));
      assert.deepEqual(typesOf(queued), ["user.message"]);
      assert.equal(eventsOf(late, "user.message").length, 2);
      await Promise.all([first.close(), second.close()]);
    },
  ),
  scenario(
    "a thread's stream shows that thread",
    { verifies: ["streams.thread", "wrong.30.thread-stream"], rows: [45] },
    async (t) => {
      const session = await newSession(t);
      const [primary] = await all(t.client.beta.sessions.threads.list(session.id));
      assert(primary !== undefined);
      const own = await Watch.open(t, session.id, { threadId: primary.id });
      const whole = await Watch.open(t, session.id);
      await sendText(
        t,
        session.id,
        script("- { tool: bash, input: { command: ls } }\n- say: done"),
      );
      assert.deepEqual(await own.turn(), await whole.turn());
      await Promise.all([own.close(), whole.close()]);
      const wrong = `/v1/sessions/${session.id}/threads/${primary.id}/events/stream`;
      assertRefused(await t.request("GET", wrong), { status: 404 });
    },
  ),
  scenario(
    "whoever attaches in the middle of a turn has all of it by stream and list",
    {
      verifies: ["streams.resume", "streams.order", "wrong.11.list-to-attach"],
      rows: [46],
      needs: ["scripted-model"],
    },
    async (t) => {
      const session = await newSession(t);
      const first = await Watch.open(t, session.id);
      const steps = `- { tool: no_such_tool, wait_ms: 2 }\n`.repeat(ROUNDS);
      await sendText(t, session.id, script(`${steps}- say: done`));
      const resumed: { watch: Watch; listed: SessionEvent[] }[] = [];
      let isOver = false;
      void first.turn().finally(() => {
        isOver = true;
      });
      while (!isOver && resumed.length < 20) {
        const watch = await Watch.open(t, session.id);
        resumed.push({ watch, listed: committed(await historyOf(t, session.id)) });
      }
      await first.turn();
      const history = await historyOf(t, session.id);
      assert.deepEqual(committed(first.seen), history);
      assert(resumed.length > 1);
      for (const { watch, listed: all } of resumed) {
        // Queued input is listed too, and comes again when it is committed.
        const listed = committed(all);
        const ids = new Set(listed.map(({ id }) => id));
        // One that attached after the end has nothing more to come.
        if (listed.length < history.length) await watch.turn();
        const fresh = committed(watch.seen).filter(({ id }) => !ids.has(id));
        assert.deepEqual([...listed, ...fresh], history);
        await watch.close();
      }
      await first.close();
    },
  ),
  scenario(
    "the official tool runner's way to resume works: Last-Event-ID is nothing to the server",
    { verifies: ["streams.last-event-id"], rows: [46] },
    async (t) => {
      const session = await newSession(t);
      const [first] = await runTurn(t, session.id, script("- say: one"));
      const path = `/v1/sessions/${session.id}/events/stream`;
      const stream = await WireStream.open(t, path, { "last-event-id": first?.id ?? "" });
      const id = await sendText(t, session.id, script("- say: two"));
      const [next] = await stream.to(STATUS_IDLE);
      assertHas(JSON.parse(next?.data ?? "null"), { id, type: "user.message" });
      stream.close();
    },
  ),
  scenario(
    "a quiet stream is kept open by what clients skip",
    { verifies: ["streams.keep-alive"], rows: [48] },
    async (t) => {
      const session = await newSession(t);
      const stream = await WireStream.open(t, `/v1/sessions/${session.id}/events/stream`);
      const watch = await Watch.open(t, session.id);
      const quiet = await stream.next();
      assert(quiet !== undefined && isPing(quiet));
      await sendText(t, session.id, script("- say: awake"));
      assert.equal((await stream.to(STATUS_IDLE)).at(-1)?.event, STATUS_IDLE);
      // The official client has seen events alone.
      assertHas((await watch.turn())[0] ?? {}, { type: "user.message" });
      stream.close();
      await watch.close();
    },
  ),
  scenario(
    "a reader that takes nothing holds up nobody, and misses nothing once it reads",
    { verifies: ["streams.stalled-reader"], rows: [45] },
    async (t) => {
      const session = await newSession(t);
      const stalled = await WireStream.open(t, `/v1/sessions/${session.id}/events/stream`);
      const watch = await Watch.open(t, session.id);
      for (let turn = 1; turn <= LARGE_COUNT; turn++) {
        await t.client.beta.sessions.events.send(session.id, {
          events: [message(LARGE_TEXT), message(script("- say: taken"))],
        });
        await watch.turn(turn);
      }
      const seen: StreamEvent[] = [];
      for (let turn = 1; turn <= LARGE_COUNT; turn++) {
        for (const { data } of await stalled.to(STATUS_IDLE)) seen.push(JSON.parse(data));
      }
      assert.deepEqual(committed(seen), committed(watch.seen));
      assert.equal(seen.length, watch.seen.length);
      stalled.close();
      await watch.close();
    },
  ),
  scenario(
    "all readers of a session see the same",
    { verifies: ["streams.many-readers"], rows: [45] },
    async (t) => {
      const session = await newSession(t);
      const opened = Array.from({ length: READERS }, () => Watch.open(t, session.id));
      const readers = await Promise.all(opened);
      await sendText(t, session.id, script("- { tool: no_such_tool }\n- say: hello to all"));
      const turns = await Promise.all(readers.map((reader) => reader.turn()));
      for (const turn of turns) assert.deepEqual(turn, turns[0]);
      assert.deepEqual(committed(turns[0] ?? []), await historyOf(t, session.id));
      await Promise.all(readers.map((reader) => reader.close()));
    },
  ),
  scenario(
    "when a session is deleted each of its streams ends with session.deleted",
    {
      verifies: [
        "streams.deleted",
        "events.session.deleted",
        "wrong.20.deleted",
        "choices.deleted.streams",
      ],
      rows: [41, 45],
    },
    async (t) => {
      const session = await newSession(t);
      const [primary] = await all(t.client.beta.sessions.threads.list(session.id));
      await runTurn(t, session.id, script("- say: hello"));
      const threadId = primary?.id ?? "";
      const readers = [
        await Watch.open(t, session.id),
        await Watch.open(t, session.id, { threadId }),
        await Watch.open(t, session.id, { previews: ["agent.message"] }),
      ];
      await t.client.beta.sessions.delete(session.id);
      for (const reader of readers) {
        await reader.ended();
        assert.deepEqual(typesOf(reader.seen), ["session.deleted"]);
        assert.deepEqual(Object.keys(reader.seen[0] ?? {}).toSorted(), [
          "id",
          "processed_at",
          "type",
        ]);
      }
      await refused(t.client.beta.sessions.events.stream(session.id), { status: 404 });
    },
  ),
  scenario(
    "a stream of a terminated session opens and has nothing to show until it is deleted",
    { verifies: ["streams.terminated"], rows: [45] },
    async (t) => {
      const session = await newSession(t);
      await runTurn(t, session.id, script("- say: hello"));
      await t.client.beta.sessions.archive(session.id);
      const watch = await Watch.open(t, session.id);
      await t.client.beta.sessions.delete(session.id);
      await watch.ended();
      assert.deepEqual(typesOf(watch.seen), ["session.deleted"]);
    },
  ),
];

function isCommitted(event: object): boolean {
  return "processed_at" in event && event.processed_at !== null;
}

/** Without the queued form of input. */
function committed(events: readonly object[]): SessionEvent[] {
  return events.filter(isCommitted) as SessionEvent[];
}
