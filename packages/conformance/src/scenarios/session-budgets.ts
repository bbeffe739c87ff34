import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { accepted, assertHas, assertRefused, refused } from "../support/expect.ts";
import { newAgent, newSession } from "../support/fixtures.ts";
import { interrupt, send } from "../support/sending.ts";
import { historyOf, message, runTurn, type SessionEvent, script } from "../support/turns.ts";
import { eventsOf, onlyOf, typesOf, Watch } from "../support/watch.ts";
import type { Target } from "../target.ts";

const TOOLSET = { type: "agent_toolset_20260401" as const };
/** More than a cent to read, at a dollar for a million tokens. */
const LONG = "word ".repeat(12_000);
const WORK = `${LONG}\n${script("- { tool: read, input: { file_path: /workspace/none } }\n- say: done")}`;

const limit = (amount: string) => ({
  type: "limit" as const,
  max_list_cost: { amount, currency: "USD" as const },
});

/** A session that is held at a budget of a cent, between its two requests. */
async function heldSession(t: Target): Promise<{ id: string; turn: SessionEvent[] }> {
  const agent = await newAgent(t, { tools: [TOOLSET] });
  const { id } = await newSession(t, { agent: agent.id, budget: limit("1") });
  return { id, turn: await runTurn(t, id, WORK) };
}

const stopOf = (turn: readonly { type: string }[]) => {
  const last = turn.at(-1) as { stop_reason?: { type?: string } } | undefined;
  return last?.stop_reason?.type;
};

export const sessionBudgets: readonly Scenario[] = [
  scenario(
    "a budget is shown, replaced and removed for good",
    {
      verifies: [
        "sessions.create.budget",
        "sessions.object.money",
        "sessions.update.budget-replace",
        "sessions.update.budget-not-raised",
        "sessions.update.budget-removed",
        "budgets.lowered",
        "budgets.list-cost",
        "events.session.updated-agent",
      ],
      rows: [38],
    },
    async (t) => {
      const { id, budget } = await newSession(t, { budget: limit("100") });
      assert.deepEqual(budget, limit("100"));
      const { sessions } = t.client.beta;
      const update = (next: ReturnType<typeof limit> | null) =>
        sessions.update(id, { budget: next });
      assert.deepEqual((await update(limit("200"))).budget, limit("200"));
      await runTurn(t, id, LONG);
      const { usage } = await sessions.retrieve(id);
      const amount = usage.list_cost?.amount ?? "";
      assert.match(amount, /^[1-9]\d*$/);
      assert.equal(usage.list_cost?.currency, "USD");
      const [thread] = (await sessions.threads.list(id)).data ?? [];
      assert.match(thread?.usage?.list_cost?.amount ?? "", /^[1-9]\d*$/);
      await refused(update(limit("1")), { status: 400, code: "budget_not_raised" });
      assert.deepEqual((await update(limit("150"))).budget, limit("150"));
      const agent = { tools: [] };
      assert.equal((await sessions.update(id, { budget: null, agent })).budget, null);
      await refused(update(limit("300")), { status: 400, code: "budget_create_only" });
      const told = eventsOf(await historyOf(t, id), "session.updated");
      assert.deepEqual(
        told.map((event) => event.budget),
        [limit("200"), limit("150"), null],
      );
      assert.deepEqual(Object.keys(told[1] ?? {}).toSorted(), [
        "budget",
        "id",
        "processed_at",
        "type",
      ]);
      assertHas(told[2] ?? {}, { agent: { type: "agent", tools: [] } });
    },
  ),

  scenario(
    "a session pauses at its budget, and goes on with the same turn once that is raised",
    {
      verifies: [
        "events.stop.budget-reached",
        "events.session.usage-budget",
        "sessions.turn.budget-reached",
      ],
      rows: [66],
      needs: ["scripted-model"],
    },
    async (t) => {
      const { id, turn } = await heldSession(t);
      assert.deepEqual(typesOf(turn).slice(-3), [
        "session.thread_status_idle",
        "session.usage",
        "session.status_idle",
      ]);
      assert.equal(stopOf(turn), "budget_reached");
      assertHas(turn.at(-3) ?? {}, { stop_reason: { type: "budget_reached" } });
      assert.deepEqual(onlyOf(turn, "session.usage").budget, limit("1"));
      const { status, usage } = await t.client.beta.sessions.retrieve(id);
      assert.equal(status, "idle");
      assert.ok(Number(usage.list_cost?.amount) >= 1, `${usage.list_cost?.amount}`);
      const watch = await Watch.open(t, id);
      await t.client.beta.sessions.update(id, { budget: limit("1000") });
      const rest = await watch.turn();
      assert.equal(stopOf(rest), "end_turn");
      assert.equal(onlyOf(rest, "agent.message").content.length, 1);
      assert(!typesOf(rest).includes("user.message"));
      await watch.close();
    },
  ),

  scenario(
    "a session at its budget takes no more work, and an interrupt changes nothing",
    {
      verifies: ["budgets.at-cap", "budgets.interrupt"],
      rows: [66],
      needs: ["scripted-model"],
    },
    async (t) => {
      const { id } = await heldSession(t);
      const count = (await historyOf(t, id)).length;
      for (const events of [
        [message("more")],
        [{ type: "user.interrupt" }, message("more")],
        [{ type: "system.message", content: [{ type: "text", text: "more" }] }],
      ]) {
        assertRefused(await send(t, id, events), { status: 400, says: /budget/ });
      }
      assert.equal((await historyOf(t, id)).length, count);
      await interrupt(t, id);
      const watch = await Watch.open(t, id);
      await t.client.beta.sessions.update(id, { budget: null });
      assert.equal(onlyOf(await watch.turn(), "agent.message").content.length, 1);
      accepted(await send(t, id, [message("more")]));
      await watch.turn(2);
      await watch.close();
    },
  ),

  scenario(
    "a call that waits for its user is told before the budget, and can be answered at it",
    { verifies: ["budgets.outranked"], rows: [66], needs: ["scripted-model"] },
    async (t) => {
      const asking = {
        ...TOOLSET,
        default_config: { permission_policy: { type: "always_ask" as const } },
      };
      const agent = await newAgent(t, { tools: [asking] });
      const { id } = await newSession(t, { agent: agent.id, budget: limit("1") });
      const turn = await runTurn(t, id, WORK);
      assert.equal(stopOf(turn), "requires_action");
      const watch = await Watch.open(t, id);
      const confirmation = {
        type: "user.tool_confirmation",
        tool_use_id: onlyOf(turn, "agent.tool_use").id,
        result: "allow",
      };
      accepted(await send(t, id, [confirmation]));
      const rest = await watch.turn();
      assert.equal(eventsOf(rest, "agent.tool_result").length, 1);
      assert.equal(stopOf(rest), "budget_reached");
      await watch.close();
    },
  ),

  scenario(
    "a model without a list price can have no budget",
    { verifies: ["budgets.model"], rows: [38], needs: ["scripted-model"] },
    async (t) => {
      const agent = await newAgent(t, { model: t.unique("unknown-model") });
      const budget = limit("100");
      await refused(newSession(t, { agent: agent.id, budget }), {
        status: 400,
        code: "model_not_budgetable",
      });
      await newSession(t, { agent: agent.id });
      await newSession(t, { budget });
    },
  ),
];
