import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { refused } from "../support/expect.ts";
import { newSession } from "../support/fixtures.ts";
import { Resources } from "../support/resources.ts";
import type { Target } from "../target.ts";

const deferred = "dreams are not built";

export const dreams: readonly Scenario[] = [
  scenario(
    "a dream completes",
    { verifies: ["dreams.create"], rows: [117], deferred },
    async (t) => {
      const { dream, session_ids } = await newDream(t);
      assert.deepEqual([dream.type, dream.status, dream.outputs], ["dream", "pending", []]);
      const [, sessions] = dream.inputs;
      assert.deepEqual(sessions, { type: "sessions", session_ids: session_ids.toSorted() });
      for (;;) {
        const now = await t.client.beta.dreams.retrieve(dream.id);
        if (now.status === "pending" || now.status === "running") continue;
        assert.equal(now.status, "completed");
        assert.equal(now.outputs.length, 1);
        return;
      }
    },
  ),
  scenario(
    "a dream is canceled and archived once it may be",
    { verifies: ["dreams.cancel"], rows: [118], deferred },
    async (t) => {
      const { dream } = await newDream(t);
      await refused(t.client.beta.dreams.archive(dream.id), { status: 400 });
      assert.equal((await t.client.beta.dreams.cancel(dream.id)).status, "canceled");
      assert.equal((await t.client.beta.dreams.cancel(dream.id)).status, "canceled");
      assert.notEqual((await t.client.beta.dreams.archive(dream.id)).archived_at, null);
    },
  ),
  scenario(
    "a store is updated by one dream at a time",
    { verifies: ["dreams.lock"], rows: [119], deferred },
    async (t) => {
      const memory_store_id = await new Resources(t).id("memory_store_id");
      await newDream(t, memory_store_id);
      await refused(newDream(t, memory_store_id), { status: 409, type: "conflict_error" });
    },
  ),
];

async function newDream(t: Target, updates?: string) {
  const memory_store_id = updates ?? (await new Resources(t).id("memory_store_id"));
  const session_ids = [(await newSession(t)).id, (await newSession(t)).id];
  const dream = await t.client.beta.dreams.create({
    model: t.model,
    inputs: [
      { type: "memory_store", memory_store_id },
      { type: "sessions", session_ids: session_ids.toReversed() },
    ],
    ...(updates === undefined
      ? {}
      : { output_behavior: { type: "update_existing", memory_store_id: updates } }),
  });
  return { dream, session_ids };
}
