import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { many, notUpdated, updated } from "../support/agents.ts";
import { all, assertHas, assertRefused, assertTime, refused } from "../support/expect.ts";
import { newAgent, newSession } from "../support/fixtures.ts";
import type { Target } from "../target.ts";

const UNKNOWN = "agent_of_nobody";

/** An agent with versions 1 to `count`, each named after its number. */
async function versioned(t: Target, count: number) {
  const first = await newAgent(t, { name: "version 1" });
  const versions = [first];
  for (let number = 2; number <= count; number += 1) {
    versions.push(await updated(t, first, { name: `version ${number}` }));
  }
  return { id: first.id, versions };
}

/** Reading agents and their versions, archiving, listing. */
export const agentReads: readonly Scenario[] = [
  scenario(
    "an agent is retrieved in its latest version, or in the one that is asked for",
    {
      verifies: [
        "agents.retrieve.latest",
        "agents.retrieve.version",
        "agents.versions.immutable",
        "agents.object.nullable-keys",
      ],
      rows: [17],
    },
    async (t) => {
      const { id, versions } = await versioned(t, 3);
      const { agents } = t.client.beta;
      assert.deepEqual(await agents.retrieve(id), versions[2]);
      for (const version of versions) {
        assert.deepEqual(await agents.retrieve(id, { version: version.version }), version);
      }
      assert.ok("multiagent" in (await agents.retrieve(id, { version: 1 })));
    },
  ),

  scenario(
    "versions and agents that there are not are refused",
    {
      verifies: [
        "agents.retrieve.version-min",
        "agents.retrieve.version-number",
        "agents.retrieve.version-missing",
        "agents.retrieve.unknown",
        "agents.versions.unknown",
      ],
      rows: [17],
    },
    async (t) => {
      const { id } = await newAgent(t);
      const { agents } = t.client.beta;
      await agents.retrieve(id, { version: 1 });
      const bad = { status: 400, type: "invalid_request_error", says: /version/ };
      for (const version of ["0", "-1", "abc", "1.5", "1e3", "0x1"]) {
        assertRefused(await t.request("GET", `/v1/agents/${id}?version=${version}`), bad);
      }
      const missing = { status: 404, type: "not_found_error" };
      await refused(agents.retrieve(id, { version: 2 }), missing);
      await refused(agents.retrieve(UNKNOWN), missing);
      await refused(agents.retrieve(UNKNOWN, { version: 1 }), missing);
      await refused(agents.update(UNKNOWN, {}), missing);
      await refused(all(agents.versions.list(UNKNOWN)), missing);
    },
  ),

  scenario(
    "an empty version is the latest one",
    { verifies: ["agents.retrieve.latest"] },
    async (t) => {
      const { id, versions } = await versioned(t, 2);
      const answer = await t.request("GET", `/v1/agents/${id}?version=`);
      assert.deepEqual(answer.body, versions[1]);
    },
  ),

  scenario(
    "agents of another workspace are neither found nor listed",
    {
      verifies: ["agents.retrieve.workspace", "agents.list.workspace"],
      needs: ["other-workspace"],
    },
    async (t) => {
      const { id, created_at } = await newAgent(t);
      const stranger = t.clientWith({ apiKey: t.key("other-workspace") }).beta.agents;
      const missing = { status: 404, type: "not_found_error" };
      await refused(stranger.retrieve(id), missing);
      await refused(stranger.update(id, { name: "mine" }), missing);
      await refused(stranger.archive(id), missing);
      await refused(all(stranger.versions.list(id)), missing);
      const listed = await all(stranger.list({ "created_at[gte]": created_at }));
      assert.equal(
        listed.some((agent) => agent.id === id),
        false,
      );
      assert.equal((await t.client.beta.agents.retrieve(id)).archived_at, null);
    },
  ),

  scenario(
    "versions are listed newest first, one full agent each, in pages of any size",
    {
      verifies: ["agents.versions.full", "agents.versions.order", "agents.versions.paged"],
      rows: [18],
    },
    async (t) => {
      const { id, versions } = await versioned(t, 5);
      const { agents } = t.client.beta;
      for (const limit of [1, 2, 5, 100]) {
        const listed = await all(agents.versions.list(id, { limit }));
        assert.deepEqual(listed, versions.toReversed(), `limit ${limit}`);
      }
      const page = await agents.versions.list(id, { limit: 5 });
      assert.equal(page.next_page, null);
    },
  ),

  scenario(
    "an archived agent is hidden, readable and final",
    {
      verifies: [
        "agents.archive.time",
        "agents.archive.hidden",
        "agents.archive.shown",
        "agents.archive.readable",
        "agents.archive.again",
        "agents.archive.unknown",
        "agents.archive.final",
      ],
      rows: [10, 19],
    },
    async (t) => {
      const { agents } = t.client.beta;
      const agent = await newAgent(t);
      const archived = await agents.archive(agent.id);
      assertTime(archived.archived_at);
      assert.deepEqual({ ...archived, archived_at: null }, { ...agent, archived_at: null });

      const since = { "created_at[gte]": agent.created_at };
      const idsOf = async (more: object) =>
        (await all(agents.list({ ...since, ...more }))).map(({ id }) => id);
      assert.equal((await idsOf({})).includes(agent.id), false);
      assert.equal((await idsOf({ include_archived: false })).includes(agent.id), false);
      assert.equal((await idsOf({ include_archived: true })).includes(agent.id), true);

      assert.deepEqual(await agents.retrieve(agent.id), archived);
      assert.deepEqual(await all(agents.versions.list(agent.id)), [archived]);
      assert.deepEqual(await agents.archive(agent.id), archived);
      await notUpdated(t, agent, { name: "late" }, /archived/);
      await refused(agents.archive(UNKNOWN), { status: 404, type: "not_found_error" });
    },
  ),

  scenario(
    "there is no way to delete an agent or to bring one back",
    { verifies: ["agents.archive.no-way-back"] },
    async (t) => {
      const { id } = await newAgent(t);
      const attempts = [
        await t.request("DELETE", `/v1/agents/${id}`),
        await t.request("POST", `/v1/agents/${id}/unarchive`),
      ];
      for (const { status, body } of attempts) {
        assert.ok(status === 404 || status === 405, `answered ${status}`);
        assert.equal(body.type, "error");
      }
      assert.equal((await t.client.beta.agents.retrieve(id)).archived_at, null);
    },
  ),

  scenario(
    "a session keeps the agent that it was made of, through changes and archiving",
    {
      verifies: ["agents.snapshot", "agents.archive.sessions", "agents.archive.running"],
      rows: [19],
    },
    async (t) => {
      const agent = await newAgent(t, { system: "before" });
      const session = await newSession(t, { agent: agent.id });
      await updated(t, agent, { system: "after" });
      await t.client.beta.agents.archive(agent.id);
      const kept = await t.client.beta.sessions.retrieve(session.id);
      assertHas(kept, { status: "idle", agent: { version: 1, system: "before" } });
      await refused(newSession(t, { agent: agent.id }), { status: 400, says: /archived/ });
    },
  ),

  scenario(
    "agents are listed newest first, each once, in its latest version, at any page size",
    {
      verifies: [
        "agents.list.paged",
        "agents.list.latest",
        "agents.list.order",
        "agents.list.limit",
      ],
      rows: [5],
    },
    async (t) => {
      const { agents } = t.client.beta;
      const made = await Promise.all(many(5, () => newAgent(t)));
      const [one] = made;
      assert.ok(one !== undefined);
      await updated(t, one, { name: "newer" });
      const since = made.map(({ created_at }) => created_at).sort()[0] ?? "";
      for (const limit of [1, 3]) {
        const listed = await all(agents.list({ "created_at[gte]": since, limit }));
        const times = listed.map(({ created_at }) => created_at);
        assert.deepEqual(times, times.toSorted().reverse());
        for (const { id } of made) {
          assert.equal(listed.filter((agent) => agent.id === id).length, 1);
        }
        assertHas(
          listed.find(({ id }) => id === one.id),
          { version: 2, name: "newer" },
        );
      }
      assert.equal((await agents.list({ limit: 2 })).data.length, 2);
      await refused(agents.list({ limit: 0 }), { status: 400, says: /limit/ });
    },
  ),

  scenario(
    "both bounds of created_at are inclusive",
    {
      verifies: ["agents.list.gte", "agents.list.lte", "agents.list.bad-time"],
      rows: [20],
    },
    async (t) => {
      const { agents } = t.client.beta;
      const { id, created_at } = await newAgent(t);
      const shifted = (ms: number) => new Date(Date.parse(created_at) + ms).toISOString();
      const isListed = async (bounds: object) =>
        (await all(agents.list(bounds))).some((agent) => agent.id === id);
      assert.equal(
        await isListed({ "created_at[gte]": created_at, "created_at[lte]": created_at }),
        true,
      );
      assert.equal(
        await isListed({ "created_at[gte]": shifted(1), "created_at[lte]": shifted(60_000) }),
        false,
      );
      assert.equal(
        await isListed({ "created_at[gte]": shifted(-1000), "created_at[lte]": shifted(-1) }),
        false,
      );
      const withOffset = created_at.replace("Z", "+00:00");
      assert.equal(
        await isListed({ "created_at[gte]": withOffset, "created_at[lte]": withOffset }),
        true,
      );
      const bad = { status: 400, says: /created_at\[gte\]/ };
      await refused(agents.list({ "created_at[gte]": "yesterday" }), bad);
    },
  ),

  scenario(
    "a page that is no cursor of the list is refused",
    { verifies: ["agents.list.cursor"] },
    async (t) => {
      const { agents } = t.client.beta;
      await newAgent(t);
      await newAgent(t);
      const { next_page: next } = await agents.list({ limit: 1 });
      assert.ok(next !== null);
      assert.equal((await agents.list({ limit: 1, page: next })).data.length, 1);
      const bad = { status: 400, type: "invalid_request_error", says: /page/ };
      await refused(agents.list({ page: "nonsense" }), bad);
      await refused(t.client.beta.environments.list({ page: next }), bad);
      await refused(agents.list({ page: `${next.slice(0, -4)}AAAA` }), bad);
    },
  ),
];
