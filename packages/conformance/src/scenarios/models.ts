import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { all, assertHas, assertRefused, assertTime, refused } from "../support/expect.ts";

const LINES = ["haiku", "sonnet", "opus", "fable", "mythos", null];
const STAGES = ["active", "deprecated", "retired"] as const;
const CAPABILITIES = [
  "batch",
  "citations",
  "code_execution",
  "compaction",
  "context_management",
  "effort",
  "image_input",
  "pdf_input",
  "server_tools",
  "structured_outputs",
  "thinking",
];
const INVALID = { status: 400, type: "invalid_request_error" };

type Model = Awaited<
  ReturnType<import("../target.ts").Target["client"]["beta"]["models"]["retrieve"]>
>;

function assertModel(model: Model): void {
  assert.equal(model.type, "model");
  assert.ok(model.id.length > 0 && model.display_name.length > 0);
  assertTime(model.created_at);
  assert.ok(LINES.includes(model.line), `line ${model.line}`);
  assert.ok(STAGES.includes(model.lifecycle), `lifecycle ${model.lifecycle}`);
  for (const time of [model.deprecated_at, model.retires_at]) {
    if (time !== null) assertTime(time);
  }
  if (model.lifecycle === "active") {
    assertHas(model, { deprecated_at: null, retires_at: null });
  }
  for (const tokens of [model.max_input_tokens, model.max_tokens]) {
    assert.ok(tokens === null || Number.isSafeInteger(tokens));
  }
  const { allowed_fallback_models: fallbacks, capabilities } = model;
  assert.ok(fallbacks === null || Array.isArray(fallbacks));
  if (capabilities !== null) assert.deepEqual(Object.keys(capabilities).sort(), CAPABILITIES);
}

export const models: readonly Scenario[] = [
  scenario(
    "each model that is listed has all its fields, and can be retrieved",
    {
      verifies: [
        "models.object",
        "models.object.created-at",
        "models.object.line",
        "models.object.lifecycle",
        "models.object.dates",
        "models.object.limits",
        "models.object.fallbacks",
        "models.object.capabilities",
        "models.retrieve",
        "models.retrieve.unknown",
      ],
      rows: [116],
    },
    async (t) => {
      const { models } = t.client.beta;
      const listed = await all(models.list({ lifecycle: [...STAGES] }));
      assert.ok(listed.length > 0, "no model is listed");
      for (const model of listed) {
        assertModel(model);
        assert.deepEqual(await models.retrieve(model.id), model);
      }
      await refused(models.retrieve("model-of-nobody"), { status: 404, type: "not_found_error" });
    },
  ),

  scenario(
    "an alias is resolved to the id of its model",
    { verifies: ["models.retrieve.alias"], rows: [116], needs: ["scripted-model"] },
    async (t) => {
      const { models } = t.client.beta;
      const model = await models.retrieve("offline");
      assert.equal(model.id, "offline/script");
      assert.deepEqual(await models.retrieve("offline/script"), model);
      const listed = await all(models.list());
      assert.equal(listed.filter(({ id }) => id === model.id || id === "offline").length, 1);
    },
  ),

  scenario(
    "models are paged by ids, forwards and backwards",
    {
      verifies: [
        "models.list.order",
        "models.list.page",
        "models.list.after",
        "models.list.before",
        "models.list.end",
        "models.list.id-scheme",
      ],
      rows: [7, 116],
    },
    async (t) => {
      const { models } = t.client.beta;
      const listed = await all(models.list());
      const times = listed.map(({ created_at }) => created_at);
      assert.deepEqual(times, times.toSorted().reverse());
      assert.deepEqual(await all(models.list({ limit: 1 })), listed);
      const [first, second] = listed;
      const last = listed.at(-1);
      assert.ok(first !== undefined && last !== undefined);
      assert.ok(second !== undefined, "paging needs two models");
      const pageOf = async (query: string) => (await t.request("GET", `/v1/models?${query}`)).body;
      const alone = (model: Model, has_more: boolean) => ({
        data: [model],
        has_more,
        first_id: model.id,
        last_id: model.id,
      });
      assert.deepEqual(await pageOf("limit=1"), alone(first, true));
      const after = `limit=1&after_id=${encodeURIComponent(first.id)}`;
      assert.deepEqual(await pageOf(after), alone(second, listed.length > 2));
      const before = `limit=1&before_id=${encodeURIComponent(second.id)}`;
      assert.deepEqual(await pageOf(before), alone(first, false));
      const end = await pageOf(`after_id=${encodeURIComponent(last.id)}`);
      assert.deepEqual(end, { data: [], has_more: false, first_id: null, last_id: null });
    },
  ),

  scenario(
    "positions and limits that make no sense are refused",
    { verifies: ["models.list.bad-position", "models.list.limit"] },
    async (t) => {
      const { models } = t.client.beta;
      await refused(models.list({ after_id: "nobody" }), { ...INVALID, says: /after_id/ });
      await refused(models.list({ before_id: "nobody" }), { ...INVALID, says: /before_id/ });
      await refused(models.list({ limit: 0 }), { ...INVALID, says: /limit/ });
      assert.equal((await models.list({ limit: 1 })).data.length, 1);
    },
  ),

  scenario(
    "retired models are listed only when they are asked for",
    {
      verifies: [
        "models.lifecycle.default",
        "models.lifecycle.filter",
        "models.lifecycle.unknown",
        "models.lifecycle.max",
      ],
      rows: [8, 116],
    },
    async (t) => {
      const { models } = t.client.beta;
      const everything = await all(models.list({ lifecycle: [...STAGES] }));
      for (const stage of STAGES) {
        assert.deepEqual(
          await all(models.list({ lifecycle: [stage] })),
          everything.filter(({ lifecycle }) => lifecycle === stage),
        );
      }
      const current = everything.filter(({ lifecycle }) => lifecycle !== "retired");
      assert.deepEqual(await all(models.list()), current);
      assert.deepEqual(await all(models.list({ lifecycle: ["active", "deprecated"] })), current);
      await refused(models.list({ lifecycle: ["new"] as never }), {
        ...INVALID,
        says: /lifecycle/,
      });
      const four = ["active", "active", "active", "active"] as const;
      const says = /lifecycle/;
      assertRefused(
        await t.request("GET", `/v1/models?${four.map((each) => `lifecycle[]=${each}`).join("&")}`),
        { ...INVALID, says },
      );
    },
  ),
];
