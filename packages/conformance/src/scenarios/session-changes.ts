import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { assertHas, assertRefused, refused } from "../support/expect.ts";
import { newAgent, newSession } from "../support/fixtures.ts";
import { historyOf, message, runTurn, script } from "../support/turns.ts";

const TOOLSET = { type: "agent_toolset_20260401" as const };
/** Milliseconds of an answer that goes on while it is tried what a running session refuses. */
const LONG_MS = 60_000;

export const sessionChanges: readonly Scenario[] = [
  scenario(
    "title and metadata are kept, replaced, patched and cleared, and told when they change",
    {
      verifies: [
        "sessions.update.title",
        "sessions.update.metadata",
        "sessions.update.event",
        "sessions.update.event-metadata",
        "sessions.update.event-omits",
        "sessions.update.no-change",
      ],
      rows: [35],
    },
    async (t) => {
      const { id } = await newSession(t, { title: "one", metadata: { a: "1", b: "2" } });
      const update = (params: object) => t.client.beta.sessions.update(id, params);
      assertHas(await update({}), { title: "one", metadata: { a: "1", b: "2" } });
      assertHas(await update({ title: "two" }), { title: "two", metadata: { a: "1", b: "2" } });
      assert.deepEqual((await update({ metadata: { a: null, c: "3" } })).metadata, {
        b: "2",
        c: "3",
      });
      assert.deepEqual((await update({ metadata: null })).metadata, { b: "2", c: "3" });
      assertHas(await update({ title: "two", metadata: { b: "2" } }), { title: "two" });
      assert.equal((await update({ title: null })).title, null);
      assert.deepEqual((await update({ metadata: { b: null, c: null } })).metadata, {});
      const told = (await historyOf(t, id)).map(({ id: _id, ...event }) => ({
        ...event,
        processed_at: undefined,
      }));
      const updated = { type: "session.updated", processed_at: undefined };
      assert.deepEqual(told, [
        { ...updated, title: "two" },
        { ...updated, metadata: { b: "2", c: "3" } },
        { ...updated, title: null },
        updated,
      ]);
    },
  ),

  scenario(
    "metadata stays within its limits when it is patched",
    { verifies: ["sessions.update.metadata-max"], rows: [35] },
    async (t) => {
      const sixteen = Object.fromEntries(
        Array.from({ length: 16 }, (_, index) => [`k${index}`, "v"]),
      );
      const { id } = await newSession(t, { metadata: sixteen });
      const update = (metadata: Record<string, string | null>) =>
        t.client.beta.sessions.update(id, { metadata });
      await refused(update({ another: "v" }), { status: 400, says: /metadata/ });
      const { metadata } = await update({ another: "v", k0: null });
      assert.equal(Object.keys(metadata).length, 16);
    },
  ),

  scenario(
    "tools are replaced for the session alone, and told with the whole agent",
    {
      verifies: [
        "sessions.update.tools",
        "sessions.update.tools-event",
        "sessions.update.agent-untouched",
        "sessions.update.mcp-rules",
      ],
      rows: [36],
    },
    async (t) => {
      const agent = await newAgent(t);
      const { id } = await newSession(t, { agent: agent.id });
      const update = (params: object) => t.client.beta.sessions.update(id, { agent: params });
      const equipped = await update({ tools: [TOOLSET] });
      assertHas(equipped.agent.tools, [TOOLSET]);
      const last = (await historyOf(t, id)).at(-1);
      assert.ok(last?.type === "session.updated", `the last event is ${last?.type}`);
      assert.deepEqual(last.agent, equipped.agent);
      const server = { type: "url", name: "docs", url: "https://mcp.example.com" };
      await refused(update({ mcp_servers: [server] }), { status: 400, says: /docs/ });
      assert.deepEqual((await update({ tools: [] })).agent.tools, []);
      assert.deepEqual(await t.client.beta.agents.retrieve(agent.id), agent);
    },
  ),

  scenario(
    "new tools are there in the next turn",
    {
      verifies: ["sessions.update.next-turn", "sessions.life.next-turn"],
      rows: [36],
      needs: ["scripted-model"],
    },
    async (t) => {
      const { id } = await newSession(t, { agent: (await newAgent(t)).id });
      const permissionOf = async () => {
        const call = script(`- { tool: read, input: { file_path: /workspace/none } }\n- say: done`);
        const events = await runTurn(t, id, call);
        const use = events.find((event) => event.type === "agent.tool_use");
        return use?.type === "agent.tool_use" ? use.evaluated_permission : undefined;
      };
      assert.equal(await permissionOf(), "deny");
      await t.client.beta.sessions.update(id, { agent: { tools: [TOOLSET] } });
      assert.equal(await permissionOf(), "allow");
    },
  ),

  scenario(
    "a conversation goes on when the tools it used are gone",
    { verifies: ["sessions.update.history"], rows: [36], needs: ["scripted-model"] },
    async (t) => {
      const { id } = await newSession(t, { agent: (await newAgent(t, { tools: [TOOLSET] })).id });
      const turn = async (steps: string) => {
        const events = await runTurn(t, id, script(steps));
        assert.equal(events.at(-1)?.type, "session.status_idle");
        assert.ok(!events.some(({ type }) => type === "session.error"));
      };
      await turn("- { tool: read, input: { file_path: /workspace/none } }\n- say: done");
      const off = { default_config: { enabled: false } };
      const onlyBash = { ...TOOLSET, ...off, configs: [{ name: "bash" as const, enabled: true }] };
      for (const tools of [[onlyBash], []]) {
        await t.client.beta.sessions.update(id, { agent: { tools } });
        await turn("- say: still here");
      }
    },
  ),

  scenario(
    "a running session takes a title and no tools, and is neither archived nor deleted",
    {
      verifies: ["sessions.update.running", "sessions.archive.running", "sessions.delete.running"],
      rows: [36],
      needs: ["scripted-model"],
    },
    async (t) => {
      const long = message(script(`- { say: done, wait_ms: ${LONG_MS} }`));
      const { id, status } = await newSession(t, { initial_events: [long] });
      assert.equal(status, "running");
      const { sessions } = t.client.beta;
      const tools = { agent: { tools: [] } };
      assert.equal((await sessions.update(id, { title: "busy" })).title, "busy");
      await refused(sessions.update(id, tools), { status: 400, says: /running/ });
      await refused(sessions.archive(id), { status: 400, says: /running/ });
      await refused(sessions.delete(id), { status: 400, says: /running/ });
      const stream = await sessions.events.stream(id);
      await sessions.events.send(id, { events: [{ type: "user.interrupt" }] });
      for await (const event of stream) if (event.type === "session.status_idle") break;
      await sessions.update(id, tools);
      await sessions.archive(id);
      await sessions.delete(id);
    },
  ),

  scenario(
    "vaults, the environment and what is made with a session cannot be changed later",
    {
      verifies: [
        "sessions.update.vault-ids",
        "sessions.update.budget-create-only",
        "sessions.update.budget-null",
        "sessions.update.immutable",
      ],
      rows: [37],
    },
    async (t) => {
      const { id, environment_id } = await newSession(t);
      const update = (body: object) => t.request("POST", `/v1/sessions/${id}`, { body });
      assert.equal((await update({ title: "x", budget: null })).status, 200);
      for (const vault_ids of [[], ["vlt_1"]]) {
        assertRefused(await update({ vault_ids }), { status: 400, says: /vault_ids/ });
      }
      const budget = { type: "limit", max_list_cost: { amount: "100", currency: "USD" } };
      assertRefused(await update({ budget }), { status: 400, code: "budget_create_only" });
      assertRefused(await update({ environment_id }), { status: 400, says: /environment_id/ });
      assertRefused(await update({ resources: [] }), { status: 400, says: /resources/ });
      assertRefused(await update({ agent: { system: "x" } }), { status: 400, says: /system/ });
    },
  ),

  scenario(
    "amounts of money are text of whole minor units",
    { verifies: ["sessions.create.budget-amount"], rows: [38] },
    async (t) => {
      const { id } = await newSession(t);
      const update = (amount: unknown, currency = "USD") => {
        const budget = { type: "limit", max_list_cost: { amount, currency } };
        return t.request("POST", `/v1/sessions/${id}`, { body: { budget } });
      };
      for (const amount of [2500, "025", "25.00", "-1", "", "0"]) {
        assertRefused(await update(amount), { status: 400, says: /amount/ });
      }
      assertRefused(await update("2500", "EUR"), { status: 400, says: /currency/ });
      // A good amount gets as far as the session, which has no budget to replace.
      assertRefused(await update("2500"), { status: 400, code: "budget_create_only" });
    },
  ),
];
