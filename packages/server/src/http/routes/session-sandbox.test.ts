import { describe, expect, test } from "vitest";
import type { EventDraft } from "../../core/session/log-event.ts";
import { openHarness, openWorld, type World } from "../world.testsuite.ts";

const FACTS = {
  provider: "bubblewrap",
  mode: "root",
  limits: {
    memory_bytes: { limit: 1024, enforced: true },
    cpus: null,
    processes: { limit: 16, enforced: true },
    open_files: { limit: 64, enforced: true },
    file_bytes: { limit: 1024, enforced: true },
    disk_bytes: { limit: 4096, enforced: false },
  },
} as const;

const sandboxOf = (world: World, id: string, headers = {}) =>
  world.request("GET", `/v1/drover/sessions/${id}/sandbox`, undefined, headers);

const withInput = async (world: World) => {
  const { body } = await world.request("POST", "/v1/sessions", {
    ...(await world.prepare()),
    initial_events: [{ type: "user.message", content: [{ type: "text", text: "hello" }] }],
  });
  return body;
};

describe("the sandbox of a session", () => {
  test("is the last that it had, and shown by no endpoint of the contract", async () => {
    const world = await openWorld();
    const session = await withInput(world);
    const harness = await openHarness(world, session.id);
    const none = await sandboxOf(world, session.id);
    expect(none).toMatchObject({
      status: 404,
      body: { error: { message: `session ${session.id} has had no sandbox yet` } },
    });
    const started = (call_id: string, facts: object) =>
      ({ ...harness.event("drover.sandbox_started"), private: { call_id, facts } }) as EventDraft;
    await harness.append([started("sevt_1", { ...FACTS, mode: "rootless" })]);
    await harness.append([started("sevt_2", FACTS)]);
    expect(await sandboxOf(world, session.id)).toMatchObject({
      status: 200,
      body: {
        type: "session_sandbox",
        ...FACTS,
        tool_use_id: "sevt_2",
        processed_at: expect.any(String),
      },
    });
    const events = await world.request("GET", `/v1/sessions/${session.id}/events`);
    expect(JSON.stringify(events.body)).not.toContain("bubblewrap");
  });

  test("is not the one of the session that it was forked from", async () => {
    const world = await openWorld();
    const session = await withInput(world);
    const harness = await openHarness(world, session.id);
    await harness.append([
      {
        ...harness.event("drover.sandbox_started"),
        private: { call_id: "sevt_1", facts: FACTS },
      } as EventDraft,
      {
        ...harness.event("drover.forked"),
        private: { session_id: "sesn_first", event_id: null, until: null, note: null },
      } as EventDraft,
    ]);
    expect((await sandboxOf(world, session.id)).status).toBe(404);
  });

  test("is nobody's whose session it is not", async () => {
    const world = await openWorld();
    expect((await sandboxOf(world, "sesn_other")).status).toBe(404);
  });
});
