import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { accepted, all, assertRefused, refused } from "../support/expect.ts";
import { newAgent, newSession } from "../support/fixtures.ts";
import { Resources, skill } from "../support/resources.ts";
import type { Target } from "../target.ts";

/** Queries, pages and uploads. */
export const transportLists: readonly Scenario[] = [
  scenario(
    "arrays, ranges and empty values of a query are read as the client writes them",
    {
      verifies: [
        "transport.query.brackets",
        "transport.query.repeated",
        "transport.query.or",
        "transport.query.empty",
      ],
      rows: [8],
    },
    async (t) => {
      const { session, archived, agent_id } = await t.shared("an archived session", async () => {
        const { id: agent_id } = await newAgent(t);
        const session = await newSession(t, { agent: agent_id });
        const archived = await newSession(t, { agent: agent_id });
        await t.client.beta.sessions.archive(archived.id);
        return { session: session.id, archived: archived.id, agent_id };
      });
      const both = { agent_id, include_archived: true };
      const byClient = async (statuses: ("idle" | "terminated")[]) =>
        (await all(t.client.beta.sessions.list({ ...both, statuses }))).map(({ id }) => id).sort();
      assert.deepEqual(await byClient(["idle", "terminated"]), [session, archived].sort());
      assert.deepEqual(await byClient(["idle"]), [session]);
      const raw = async (query: string) => {
        const path = `/v1/sessions?agent_id=${agent_id}&include_archived=true&${query}`;
        const { data } = accepted(await t.request("GET", path));
        return data.map(({ id }: { id: string }) => id).sort();
      };
      assert.deepEqual(await raw("statuses=idle&statuses=terminated"), [session, archived].sort());
      assert.deepEqual(await raw("statuses[]=terminated"), [archived]);
      assert.deepEqual(await raw("statuses%5B%5D=terminated"), [archived]);
      assert.deepEqual(await raw("statuses=terminated"), [archived]);
      assert.deepEqual(await raw("limit=&page=&order="), [session, archived].sort());
    },
  ),
  scenario(
    "a range filter is a literal key",
    { verifies: ["transport.query.range"], rows: [20] },
    async (t) => {
      const agent = await newAgent(t);
      const found = async (query: string) => {
        const { data } = accepted(await t.request("GET", `/v1/agents?limit=1000&${query}`));
        return data.some(({ id }: { id: string }) => id === agent.id);
      };
      const time = encodeURIComponent(agent.created_at);
      assert.equal(await found(`created_at[gte]=${time}&created_at[lte]=${time}`), true);
      assert.equal(await found(`created_at%5Bgte%5D=${time}`), true);
      assert.equal(await found("created_at[lte]=2020-01-01T00:00:00Z"), false);
    },
  ),
  scenario(
    "what a query may not hold is refused by name",
    {
      verifies: [
        "transport.query.boolean",
        "transport.query.unknown",
        "transport.query.twice",
        "transport.page.limit",
      ],
    },
    async (t) => {
      for (const query of [
        "include_archived=true",
        "include_archived=false",
        "limit=1",
        "limit=1000",
      ]) {
        accepted(await t.request("GET", `/v1/agents?${query}`));
      }
      for (const [query, says] of [
        ["include_archived=yes", /include_archived/],
        ["include_archived=1", /include_archived/],
        ["colour=red", /colour/],
        ["limit=1&limit=2", /limit/],
        ["limit=0", /limit/],
        ["limit=1001", /limit/],
        ["limit=-1", /limit/],
        ["limit=1.5", /limit/],
        ["limit=ten", /limit/],
      ] as const) {
        assertRefused(await t.request("GET", `/v1/agents?${query}`), { status: 400, says });
      }
    },
  ),
  scenario(
    "paging by one shows everything once, and ends",
    {
      verifies: ["transport.page.once", "transport.page.end", "transport.page.one-way"],
      rows: [5],
    },
    async (t) => {
      const store = await new Resources(t).id("memory_store_id");
      const { memories } = t.client.beta.memoryStores;
      for (const name of ["a", "b", "c"]) {
        await memories.create(store, { path: `/${name}`, content: name });
      }
      const pages = [];
      for await (const page of (await memories.list(store, { limit: 1 })).iterPages()) {
        pages.push(page);
      }
      const paths = pages.flatMap(({ data }) => data.map(({ path }) => path));
      assert.deepEqual(paths.sort(), ["/a", "/b", "/c"]);
      assert.equal(pages.at(-1)?.next_page, null);
      const first = accepted(await t.request("GET", "/v1/agents?limit=1"));
      assert.equal("prev_page" in first, false);
      const made = await Promise.all([newAgent(t), newAgent(t)]);
      const [earliest = ""] = made.map(({ created_at }) => created_at).sort();
      const query = { limit: 1, "created_at[gte]": earliest };
      const ids = (await all(t.client.beta.agents.list(query))).map(({ id }) => id);
      assert.equal(new Set(ids).size, ids.length);
      for (const { id } of made) assert.equal(ids.includes(id), true);
    },
  ),
  scenario(
    "a cursor opens its own list and no other",
    {
      verifies: ["transport.page.garbage", "transport.page.other-list", "transport.page.filters"],
    },
    async (t) => {
      await Promise.all([newAgent(t), newAgent(t)]);
      const { next_page } = accepted(await t.request("GET", "/v1/agents?limit=1"));
      const page = encodeURIComponent(next_page);
      accepted(await t.request("GET", `/v1/agents?limit=2&include_archived=true&page=${page}`));
      for (const path of [
        "/v1/agents?page=garbage",
        "/v1/agents?page=eyJhIjoxfQ",
        `/v1/agents?page=${page}x`,
        `/v1/environments?page=${page}`,
        `/v1/sessions?page=${page}`,
      ]) {
        assertRefused(await t.request("GET", path), { status: 400, says: /page/ });
      }
    },
  ),
  scenario(
    "sessions can be paged back",
    { verifies: ["transport.page.both-ways"], rows: [6] },
    async (t) => {
      const { id: agent_id } = await newAgent(t);
      for (let made = 0; made < 5; made += 1) await newSession(t, { agent: agent_id });
      const first = await t.client.beta.sessions.list({ agent_id, limit: 2 });
      const second = await first.getNextPage();
      assert.equal(second.data.length, 2);
      const { prev_page } = second as unknown as { prev_page: string };
      const back = await t.client.beta.sessions.list({ agent_id, limit: 2, page: prev_page });
      assert.deepEqual(
        back.data.map(({ id }) => id),
        first.data.map(({ id }) => id),
      );
    },
  ),
  scenario("models are paged by id", { verifies: ["transport.page.ids"], rows: [7] }, async (t) => {
    const every = accepted(await t.request("GET", "/v1/models?limit=1000"));
    const ids = every.data.map(({ id }: { id: string }) => id);
    assert.equal(every.has_more, false);
    assert.deepEqual([every.first_id, every.last_id], [ids[0], ids.at(-1)]);
    assert.deepEqual(
      (await all(t.client.beta.models.list({ limit: 1 }))).map(({ id }) => id),
      ids,
    );
    if (ids.length < 2) return;
    const after = await t.client.beta.models.list({ limit: 1, after_id: ids[0] });
    assert.equal(after.data[0]?.id, ids[1]);
    const before = await t.client.beta.models.list({ limit: 1, before_id: ids[1] });
    assert.equal(before.data[0]?.id, ids[0]);
  }),
  scenario(
    "a list without anything in it ends at once",
    { verifies: ["transport.page.empty"] },
    async (t) => {
      const { id: agent_id } = await newAgent(t);
      const { data, next_page } = await t.client.beta.sessions.list({ agent_id });
      assert.deepEqual([data, next_page], [[], null]);
      await newSession(t, { agent: agent_id });
      assert.equal((await t.client.beta.sessions.list({ agent_id })).data.length, 1);
    },
  ),
  scenario(
    "an upload is a form with the part that the contract names",
    { verifies: ["transport.upload.part", "transport.upload.multipart"] },
    async (t) => {
      accepted(await upload(t, "file"));
      assertRefused(await upload(t, "document"), { status: 400, says: /file/ });
      const json = await t.request("POST", "/v1/files", { body: { file: "text" } });
      assertRefused(json, { status: 400, says: /multipart/ });
    },
  ),
  scenario(
    "the parts of a skill keep their directories",
    { verifies: ["transport.upload.directories"] },
    async (t) => {
      const name = t.unique("directories");
      const form = skill(name, "with a script");
      form.append("files[]", new File(["echo hello"], `${name}/scripts/run.sh`));
      accepted(await t.request("POST", "/v1/skills", { body: form }));
      const flat = skill(t.unique("flat"), "x");
      flat.append("files[]", new File(["x"], "elsewhere/run.sh"));
      assertRefused(await t.request("POST", "/v1/skills", { body: flat }), { status: 400 });
      await refused(t.client.beta.skills.retrieve("skill_nobody"), { status: 404 });
    },
  ),
];

function upload(t: Target, part: string) {
  const body = new FormData();
  body.set(part, new File(["text"], "notes.txt"));
  return t.request("POST", "/v1/files", { body });
}
