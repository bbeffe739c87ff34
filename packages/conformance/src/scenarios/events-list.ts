import assert from "node:assert/strict";
import type { BetaManagedAgentsSessionEventType } from "@anthropic-ai/sdk/resources/beta/sessions/events";
import { type Scenario, scenario } from "../scenario.ts";
import { accepted, all, assertRefused, refused } from "../support/expect.ts";
import { newSession } from "../support/fixtures.ts";
import { sendText } from "../support/sending.ts";
import { historyOf, runTurn, type SessionEvent, script } from "../support/turns.ts";
import { typesOf } from "../support/watch.ts";
import type { Target } from "../target.ts";

/** What `types[]` takes. */
const LISTED_TYPES = `
  user.message user.interrupt user.tool_confirmation user.custom_tool_result user.tool_result
  user.define_outcome system.message
  agent.message agent.thinking agent.tool_use agent.tool_result agent.mcp_tool_use
  agent.mcp_tool_result agent.custom_tool_use agent.thread_message_sent
  agent.thread_message_received agent.thread_context_compacted
  session.status_running session.status_idle session.status_rescheduled session.status_terminated
  session.thread_created session.thread_status_running session.thread_status_idle
  session.thread_status_rescheduled session.thread_status_terminated session.error
  session.updated session.usage
  span.model_request_start span.model_request_end span.outcome_evaluation_start
  span.outcome_evaluation_ongoing span.outcome_evaluation_end
  workflow_run.created workflow_run.status_running workflow_run.status_idle
  workflow_run.status_ended workflow_run.error workflow_run.phase_started workflow_run.phase_ended
`
  .trim()
  .split(/\s+/) as BetaManagedAgentsSessionEventType[];

export const eventsList: readonly Scenario[] = [
  scenario(
    "events are listed by time, oldest first unless asked otherwise",
    {
      verifies: ["events.list.ascending", "events.list.descending", "events.list.total-order"],
      rows: [47],
    },
    async (t) => {
      const { id, history } = await threeTurns(t);
      const list = (order?: "asc" | "desc") =>
        all(t.client.beta.sessions.events.list(id, order === undefined ? {} : { order }));
      assert.deepEqual(await list(), history);
      assert.deepEqual(await list("asc"), history);
      assert.deepEqual(await list("desc"), history.toReversed());
      const times = history.map(timeOf);
      assert.deepEqual(times, times.toSorted());
      const answer = await t.request("GET", `/v1/sessions/${id}/events?order=newest`);
      assertRefused(answer, { status: 400, says: /order/ });
    },
  ),
  scenario(
    "events are filtered by type, by each of 41 names",
    {
      verifies: [
        "events.list.types-filter",
        "events.list.types-names",
        "events.list.types-unknown",
      ],
      rows: [47],
    },
    async (t) => {
      const { id, history } = await threeTurns(t);
      assert.equal(LISTED_TYPES.length, 41);
      for (const type of LISTED_TYPES) {
        const found = await all(t.client.beta.sessions.events.list(id, { types: [type] }));
        assert.deepEqual(
          found,
          history.filter((event) => event.type === type),
        );
      }
      const types = ["user.message", "agent.message"] as const;
      const both = await all(t.client.beta.sessions.events.list(id, { types: [...types] }));
      assert.deepEqual(
        both,
        history.filter(({ type }) => types.some((each) => each === type)),
      );
      assert.equal(both.length, 6);
      const path = `/v1/sessions/${id}/events`;
      const repeated = await t.request("GET", `${path}?types=user.message&types=agent.message`);
      assert.deepEqual(accepted(repeated).data, both);
      for (const type of ["session.deleted", "event_start", "event_delta", "user.mesage"]) {
        const answer = await t.request("GET", `${path}?types[]=user.message&types[]=${type}`);
        assertRefused(answer, { status: 400, says: /types/ });
      }
    },
  ),
  scenario(
    "created_at bounds compare with processed_at",
    { verifies: ["events.list.created-at", "events.list.created-at-form"], rows: [47] },
    async (t) => {
      const { id, history } = await threeTurns(t);
      const bound = timeOf(history[Math.floor(history.length / 2)]);
      const bounds: Record<string, (time: string) => boolean> = {
        gt: (time) => time > bound,
        gte: (time) => time >= bound,
        lt: (time) => time < bound,
        lte: (time) => time <= bound,
      };
      for (const [name, holds] of Object.entries(bounds)) {
        const query = { [`created_at[${name}]`]: bound };
        const found = await all(t.client.beta.sessions.events.list(id, query));
        assert.deepEqual(
          found,
          history.filter((event) => holds(timeOf(event))),
          name,
        );
      }
      const offset = new Date(Date.parse(bound) + 3_600_000).toISOString().replace("Z", "+01:00");
      const shifted = await all(
        t.client.beta.sessions.events.list(id, { "created_at[gte]": offset }),
      );
      assert.deepEqual(
        shifted,
        history.filter((event) => timeOf(event) >= bound),
      );
      const both = { "created_at[gte]": bound, "created_at[lt]": bound };
      assert.deepEqual(await all(t.client.beta.sessions.events.list(id, both)), []);
      for (const time of ["yesterday", "2026-01-01", "1767225600"]) {
        const path = `/v1/sessions/${id}/events?created_at[gte]=${time}`;
        assertRefused(await t.request("GET", path), { status: 400, says: /created_at/ });
      }
    },
  ),
  scenario(
    "pages of any size give each event once, in both orders",
    {
      verifies: ["events.list.pages", "events.list.cursor-filters", "events.list.total-order"],
      rows: [46, 47],
    },
    async (t) => {
      const { id, history } = await threeTurns(t);
      for (const limit of [1, 7, history.length, 1000]) {
        for (const order of ["asc", "desc"] as const) {
          const found = await all(t.client.beta.sessions.events.list(id, { limit, order }));
          assert.deepEqual(found, order === "asc" ? history : history.toReversed());
        }
      }
      const first = await t.client.beta.sessions.events.list(id, { limit: 5 });
      const page = first.next_page;
      assert(typeof page === "string");
      const others = await all(
        t.client.beta.sessions.events.list(id, { page, limit: 1000, types: ["agent.message"] }),
      );
      const rest = history.slice(5).filter(({ type }) => type === "agent.message");
      assert.deepEqual(others, rest);
    },
  ),
  scenario(
    "a list that is read while events are added has none of them twice, and none is lost",
    { verifies: ["events.list.pages"], rows: [46] },
    async (t) => {
      const session = await newSession(t);
      await runTurn(t, session.id, script("- say: one"));
      const read: SessionEvent[] = [];
      let page: string | null = null;
      do {
        const query: { limit: number; page?: string } =
          page === null ? { limit: 3 } : { limit: 3, page };
        const slice = await t.client.beta.sessions.events.list(session.id, query);
        read.push(...(slice.data as SessionEvent[]));
        if (read.length === 3) await runTurn(t, session.id, script("- say: two"));
        page = slice.next_page;
      } while (page !== null);
      assert.deepEqual(read, await historyOf(t, session.id));
    },
  ),
  scenario(
    "limit goes from 1 to 1,000",
    { verifies: ["events.list.limit"], rows: [47] },
    async (t) => {
      const { id, history } = await threeTurns(t);
      const path = `/v1/sessions/${id}/events?limit=`;
      assert.deepEqual(accepted(await t.request("GET", `${path}1000`)).data, history);
      assert.deepEqual(accepted(await t.request("GET", `${path}1`)).data, history.slice(0, 1));
      for (const limit of ["0", "1001", "-1", "1.5", "ten"]) {
        assertRefused(await t.request("GET", `${path}${limit}`), { status: 400, says: /limit/ });
      }
    },
  ),
  scenario(
    "a cursor is good for its own list and order only",
    { verifies: ["events.list.cursor-order"], rows: [47] },
    async (t) => {
      const { id, threadId } = await threeTurns(t);
      const other = await newSession(t);
      const { next_page } = await t.client.beta.sessions.events.list(id, { limit: 2 });
      const page = `limit=2&page=${encodeURIComponent(next_page ?? "")}`;
      const paths = [
        `/v1/sessions/${id}/events?${page}&order=desc`,
        `/v1/sessions/${other.id}/events?${page}`,
        `/v1/sessions/${id}/threads/${threadId}/events?${page}`,
        `/v1/sessions/${id}/events?page=made-up`,
      ];
      for (const path of paths) {
        assertRefused(await t.request("GET", path), { status: 400, says: /page/ });
      }
      accepted(await t.request("GET", `/v1/sessions/${id}/events?${page}&order=asc`));
    },
  ),
  scenario(
    "a cursor goes on under bounds that hold its place, and under no others",
    { verifies: ["events.list.cursor-bounds"], rows: [47] },
    async (t) => {
      const { id, history } = await threeTurns(t);
      const { next_page } = await t.client.beta.sessions.events.list(id, { limit: 5 });
      const edge = timeOf(history[4]);
      const path = `/v1/sessions/${id}/events?page=${encodeURIComponent(next_page ?? "")}`;
      const from = await t.request("GET", `${path}&created_at[gte]=${edge}`);
      assert.deepEqual(accepted(from).data, history.slice(5));
      accepted(await t.request("GET", `${path}&created_at[lte]=${edge}`));
      for (const bound of ["gt", "lt"]) {
        const excluding = await t.request("GET", `${path}&created_at[${bound}]=${edge}`);
        assertRefused(excluding, { status: 400, says: /page/ });
      }
    },
  ),
  scenario(
    "a thread's list is that of the session's own thread, and takes limit and page alone",
    { verifies: ["events.list.thread", "events.list.thread-parameters"], rows: [47] },
    async (t) => {
      const { id, threadId, history } = await threeTurns(t);
      const { threads } = t.client.beta.sessions;
      for (const limit of [1, 7, 1000]) {
        const found = await all(threads.events.list(threadId, { session_id: id, limit }));
        assert.deepEqual(found, history);
      }
      const path = `/v1/sessions/${id}/threads/${threadId}/events`;
      const unknown = [
        "order=desc",
        "types[]=user.message",
        "created_at[gte]=2026-01-01T00:00:00Z",
      ];
      for (const query of unknown) {
        const name = /^\w+/.exec(query)?.[0] ?? "";
        assertRefused(await t.request("GET", `${path}?${query}`), {
          status: 400,
          says: new RegExp(name),
        });
      }
    },
  ),
  scenario(
    "the events of what is not there are not found",
    { verifies: ["events.list.unknown-session", "events.list.thread-unknown"] },
    async (t) => {
      const { sessions } = t.client.beta;
      const session = await newSession(t);
      const [foreign] = await all(sessions.threads.list((await newSession(t)).id));
      assert(foreign !== undefined);
      const missing = { status: 404, type: "not_found_error" };
      await refused(sessions.events.list("sesn_of_nobody"), missing);
      await refused(sessions.threads.events.list(foreign.id, { session_id: session.id }), missing);
      await refused(
        sessions.threads.events.list("sthr_of_nobody", { session_id: session.id }),
        missing,
      );
      assert.deepEqual(await all(sessions.events.list(session.id)), []);
      await sendText(t, session.id, script("- say: hello"));
    },
  ),
];

/** A session at rest after three turns, with its history. Never changed by a scenario. */
function threeTurns(t: Target) {
  return t.shared("three turns", async () => {
    const { id } = await newSession(t);
    for (const word of ["one", "two", "three"]) await runTurn(t, id, script(`- say: ${word}`));
    const history = await historyOf(t, id);
    const [thread] = await all(t.client.beta.sessions.threads.list(id));
    assert(thread !== undefined && typesOf(history).includes("session.usage"));
    return { id, history, threadId: thread.id };
  });
}

function timeOf(event: SessionEvent | undefined): string {
  const time = event?.processed_at;
  assert(typeof time === "string", "an event of a turn that is over has no processed_at");
  return time;
}
