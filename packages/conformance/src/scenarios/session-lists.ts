import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { all, assertHas, assertRefused, assertTime, refused } from "../support/expect.ts";
import { newAgent, newSession } from "../support/fixtures.ts";
import { historyOf, message, runTurn } from "../support/turns.ts";
import type { Target } from "../target.ts";

const ids = (sessions: readonly { id: string }[]) => sessions.map(({ id }) => id);

/** Sessions of an agent of their own, so that a list by agent holds nothing else; the oldest first. */
async function family(t: Target, count: number) {
  const agent = await newAgent(t);
  const made: Awaited<ReturnType<typeof newSession>>[] = [];
  for (let index = 0; index < count; index += 1)
    made.push(await newSession(t, { agent: agent.id }));
  const sessions = made.toSorted((left, right) =>
    `${left.created_at} ${left.id}` < `${right.created_at} ${right.id}` ? -1 : 1,
  );
  return { agent, sessions };
}

export const sessionLists: readonly Scenario[] = [
  scenario(
    "sessions are listed by agent, newest first unless asked otherwise",
    {
      verifies: [
        "sessions.list.default-order",
        "sessions.list.order",
        "sessions.list.agent",
        "sessions.list.agent-version",
        "sessions.list.deployment",
      ],
      rows: [39],
    },
    async (t) => {
      const { agent, sessions } = await family(t, 3);
      const of = async (params: object) =>
        ids((await t.client.beta.sessions.list({ agent_id: agent.id, ...params })).data);
      assert.deepEqual(await of({}), ids(sessions.toReversed()));
      assert.deepEqual(await of({ order: "desc" }), ids(sessions.toReversed()));
      assert.deepEqual(await of({ order: "asc" }), ids(sessions));
      await t.client.beta.agents.update(agent.id, { system: "two" });
      const later = await newSession(t, { agent: agent.id });
      assert.deepEqual(await of({ agent_version: 2 }), [later.id]);
      assert.deepEqual(await of({ agent_version: 1, order: "asc" }), ids(sessions));
      assert.deepEqual(await of({ agent_version: 3 }), []);
      assert.deepEqual(await of({ deployment_id: "depl_nobody" }), []);
      assert.deepEqual((await t.client.beta.sessions.list({ agent_id: "agent_nobody" })).data, []);
      const any = await t.client.beta.sessions.list({ agent_version: 999_999, limit: 1 });
      assert.equal(any.data.length, 1);
    },
  ),

  scenario(
    "sessions are listed by time, with bounds that are or are not part of it",
    { verifies: ["sessions.list.created-at"], rows: [39] },
    async (t) => {
      const { agent, sessions } = await family(t, 3);
      const middle = sessions[1]?.created_at ?? "";
      const of = async (bounds: object) => {
        const list = await t.client.beta.sessions.list({
          agent_id: agent.id,
          order: "asc",
          ...bounds,
        });
        return ids(list.data);
      };
      const where = (test: (time: string) => boolean) =>
        ids(sessions.filter(({ created_at }) => test(created_at)));
      assert.deepEqual(
        await of({ "created_at[gt]": middle }),
        where((time) => time > middle),
      );
      assert.deepEqual(
        await of({ "created_at[gte]": middle }),
        where((time) => time >= middle),
      );
      assert.deepEqual(
        await of({ "created_at[lt]": middle }),
        where((time) => time < middle),
      );
      assert.deepEqual(
        await of({ "created_at[lte]": middle }),
        where((time) => time <= middle),
      );
      const both = { "created_at[gte]": middle, "created_at[lte]": middle };
      assert.deepEqual(
        await of(both),
        where((time) => time === middle),
      );
    },
  ),

  scenario(
    "sessions are listed by status, any of several, and archived ones when asked for",
    { verifies: ["sessions.list.statuses", "sessions.list.archived"], rows: [39, 8] },
    async (t) => {
      const { agent, sessions } = await family(t, 2);
      const [idle, archived] = sessions;
      assert.ok(idle !== undefined && archived !== undefined);
      await t.client.beta.sessions.archive(archived.id);
      const of = async (params: object) => {
        const list = await t.client.beta.sessions.list({
          agent_id: agent.id,
          order: "asc",
          ...params,
        });
        return ids(list.data);
      };
      const both = { include_archived: true };
      assert.deepEqual(await of({}), [idle.id]);
      assert.deepEqual(await of(both), ids(sessions));
      assert.deepEqual(await of({ statuses: ["idle"] }), [idle.id]);
      assert.deepEqual(await of({ statuses: ["idle", "running"] }), [idle.id]);
      assert.deepEqual(await of({ statuses: ["running", "rescheduling"] }), []);
      assert.deepEqual(await of({ statuses: ["terminated"] }), []);
      assert.deepEqual(await of({ statuses: ["terminated"], ...both }), [archived.id]);
      assert.deepEqual(await of({ statuses: ["terminated", "idle"], ...both }), ids(sessions));
    },
  ),

  scenario(
    "pages of sessions lead forth and back",
    {
      verifies: ["sessions.list.pages", "sessions.list.prev-null", "sessions.list.keys"],
      rows: [6],
    },
    async (t) => {
      const { agent, sessions } = await family(t, 5);
      const expected = ids(sessions.toReversed());
      const list = { agent_id: agent.id, limit: 2 };
      const walked = await all(t.client.beta.sessions.list(list));
      assert.deepEqual(ids(walked), expected);
      const page = async (cursor?: string | null) => {
        const params = cursor === undefined ? list : { ...list, page: cursor ?? "" };
        const { data, next_page, prev_page } = await t.client.beta.sessions.list(params);
        return { ids: ids(data), next: next_page, previous: prev_page };
      };
      const first = await page();
      const second = await page(first.next);
      const third = await page(second.next);
      assert.deepEqual([first.previous, third.next], [null, null]);
      const back = await page(third.previous);
      assert.deepEqual([back.ids, back.next !== null], [second.ids, true]);
      const start = await page(back.previous);
      assert.deepEqual([start.ids, start.previous], [first.ids, null]);
      const answer = await t.request("GET", `/v1/sessions?agent_id=${agent.id}`);
      assertHas(answer.body, { next_page: null, prev_page: null });
    },
  ),

  scenario(
    "filters that no session could have are refused by name",
    { verifies: ["sessions.list.refusals"], rows: [39] },
    async (t) => {
      const list = (query: string) => t.request("GET", `/v1/sessions?${query}`);
      const pairs: [string, string][] = [
        ["statuses[]=idle", "statuses[]=asleep"],
        ["order=asc", "order=random"],
        ["agent_version=1", "agent_version=zero"],
        ["include_archived=true", "include_archived=maybe"],
        ["created_at[gt]=2026-01-01T00:00:00Z", "created_at[gt]=yesterday"],
        ["limit=1", "colour=red"],
      ];
      for (const [good, bad] of pairs) {
        assert.equal((await list(good)).status, 200, good);
        const field = /^\w+/.exec(bad)?.[0] ?? bad;
        assertRefused(await list(bad), { status: 400, says: new RegExp(field) });
      }
    },
  ),

  scenario(
    "an archived session is terminated, tells so, and can only be read and deleted",
    {
      verifies: [
        "sessions.archive.terminated",
        "sessions.archive.told",
        "sessions.archive.worker",
        "sessions.archive.no-input",
        "sessions.archive.readable",
        "sessions.delete.archived",
      ],
      rows: [40],
    },
    async (t) => {
      const { sessions } = t.client.beta;
      const { id } = await newSession(t);
      await runTurn(t, id, "hello");
      const before = await historyOf(t, id);
      const archived = await sessions.archive(id);
      assert.equal(archived.status, "terminated");
      assertTime(archived.archived_at);
      assert.equal((await sessions.retrieve(id)).archived_at, archived.archived_at);
      const after = await historyOf(t, id);
      assert.deepEqual(after.slice(0, before.length), before);
      const told = after.slice(before.length).map(({ type }) => type);
      assert.deepEqual(told, ["session.thread_status_terminated", "session.status_terminated"]);
      await refused(sessions.events.send(id, { events: [message("hello?")] }), { status: 400 });
      await refused(sessions.update(id, { title: "x" }), { status: 400, says: /archived/ });
      assert.equal((await sessions.delete(id)).type, "session_deleted");
    },
  ),

  scenario(
    "a deleted session is gone with its events, threads and files",
    {
      verifies: [
        "sessions.delete.tombstone",
        "sessions.delete.json",
        "sessions.delete.permanent",
        "sessions.delete.files",
      ],
      rows: [41],
    },
    async (t) => {
      const { sessions, files } = t.client.beta;
      const original = await files.upload({ file: new File(["a,b"], "data.csv") });
      const resources = [{ type: "file" as const, file_id: original.id }];
      const { id } = await newSession(t, { resources });
      assert.equal((await files.list({ scope_id: id })).data.length, 1);
      const answer = await t.request("DELETE", `/v1/sessions/${id}`);
      assert.deepEqual([answer.status, answer.body], [200, { id, type: "session_deleted" }]);
      await refused(sessions.retrieve(id), { status: 404, type: "not_found_error" });
      await refused(sessions.delete(id), { status: 404 });
      for (const path of ["events", "threads", "resources", "events/stream"]) {
        assertRefused(await t.request("GET", `/v1/sessions/${id}/${path}`), { status: 404 });
      }
      assert.deepEqual((await files.list({ scope_id: id })).data, []);
      assert.equal((await files.retrieveMetadata(original.id)).id, original.id);
    },
  ),

  scenario(
    "open streams hear of the deletion last, and end",
    {
      verifies: ["sessions.delete.stream", "sessions.delete.stream-closed"],
      rows: [41],
    },
    async (t) => {
      const { sessions } = t.client.beta;
      const { id } = await newSession(t);
      const stream = await sessions.events.stream(id);
      const types = (async () => {
        const seen: string[] = [];
        for await (const event of stream) seen.push(event.type);
        return seen;
      })();
      await sessions.update(id, { title: "soon gone" });
      await sessions.delete(id);
      assert.deepEqual(await types, ["session.updated", "session.deleted"]);
    },
  ),
];
