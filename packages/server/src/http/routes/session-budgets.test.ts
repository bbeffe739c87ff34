import { expect, test } from "vitest";
import { openWorld, UNPRICED_MODEL, type World } from "../world.testsuite.ts";

const budget = { type: "limit", max_list_cost: { amount: "5", currency: "USD" } };
const toolset = (type: "always_allow" | "auto") => ({
  type: "agent_toolset_20260401",
  default_config: { permission_policy: { type } },
});
const NOT_BUDGETABLE = [400, { error_code: "model_not_budgetable" }];

async function create(world: World, agent: object, more: object = {}) {
  const { agent: id, environment_id } = await world.prepare();
  const made = { type: "agent_with_overrides", id, ...agent };
  return await world.request("POST", "/v1/sessions", { agent: made, environment_id, ...more });
}

test("a budget needs a price of every model that the session may ask, also of who judges its calls", async () => {
  const world = await openWorld();
  const auto = { tools: [toolset("auto")] };
  for (const agent of [{ model: UNPRICED_MODEL }, auto]) {
    const refused = await create(world, agent, { budget });
    expect([refused.status, refused.body.error.details]).toEqual(NOT_BUDGETABLE);
    expect((await create(world, agent)).status).toBe(200);
  }
  const made = await create(world, { tools: [toolset("always_allow")] }, { budget });
  expect([made.status, made.body.budget]).toEqual([200, budget]);
  const path = `/v1/sessions/${made.body.id}`;
  const judged = await world.request("POST", path, { agent: auto });
  expect([judged.status, judged.body.error.details]).toEqual(NOT_BUDGETABLE);
  const both = await world.request("POST", path, { agent: auto, budget: null });
  expect([both.status, both.body.budget]).toEqual([200, null]);
});

test.each([
  [{ ...budget, max_list_cost: { amount: "0", currency: "USD" } }, "amount"],
  [{ ...budget, max_list_cost: { amount: "05", currency: "USD" } }, "amount"],
  [{ ...budget, max_list_cost: { amount: "1.50", currency: "USD" } }, "amount"],
  [{ ...budget, max_list_cost: { amount: 5, currency: "USD" } }, "amount"],
  [{ ...budget, max_list_cost: { amount: "1000000000000000", currency: "USD" } }, "amount"],
  [{ ...budget, max_list_cost: { amount: "5", currency: "EUR" } }, "currency"],
  [{ ...budget, type: "soft" }, "type"],
  [{ ...budget, max_tokens: 5 }, "max_tokens"],
])("refuses the budget %j by name", async (wrong, field) => {
  const world = await openWorld();
  const { status, body } = await create(world, {}, { budget: wrong });
  expect([status, body.error.message]).toEqual([400, expect.stringContaining(field)]);
});
