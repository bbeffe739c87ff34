import { describe, expect, test } from "vitest";
import type { EventDraft } from "../../core/session/log-event.ts";
import { openHarness, openWorld, type World } from "../world.testsuite.ts";

const RECORD = {
  host: "api.test",
  port: 443,
  verdict: "allowed",
  reason: null,
  connections: 1,
  bytes_up: 10,
  bytes_down: 20,
  ms: 3,
} as const;

const list = (world: World, id: string, query = "", headers = {}) =>
  world.request("GET", `/v1/drover/sessions/${id}/egress${query}`, undefined, headers);

describe("what a session's sandboxes did over the network", () => {
  test("is listed page by page, and by no endpoint of the contract", async () => {
    const world = await openWorld();
    const { body } = await world.request("POST", "/v1/sessions", {
      ...(await world.prepare()),
      initial_events: [{ type: "user.message", content: [{ type: "text", text: "hello" }] }],
    });
    const harness = await openHarness(world, body.id);
    expect(await list(world, body.id)).toMatchObject({
      status: 200,
      body: { data: [], next_page: null },
    });
    for (const call_id of ["sevt_1", "sevt_2", "sevt_3"]) {
      const event = { ...harness.event("drover.egress"), private: { call_id, records: [RECORD] } };
      await harness.append([event as EventDraft]);
    }
    const first = await list(world, body.id, "?limit=2");
    expect(first.body).toMatchObject({
      data: [
        {
          id: expect.stringMatching(/^sevt_/),
          type: "session_egress",
          tool_use_id: "sevt_1",
          processed_at: expect.any(String),
          decisions: [RECORD],
        },
        { tool_use_id: "sevt_2" },
      ],
      next_page: expect.any(String),
    });
    const rest = await list(world, body.id, `?page=${first.body["next_page"]}`);
    expect(rest.body).toMatchObject({ data: [{ tool_use_id: "sevt_3" }], next_page: null });
    const events = await world.request("GET", `/v1/sessions/${body.id}/events`);
    expect(JSON.stringify(events.body)).not.toContain("api.test");
  });

  test("is nobody's whose session it is not, and takes no other parameter", async () => {
    const world = await openWorld();
    const { body } = await world.request("POST", "/v1/sessions", await world.prepare());
    expect((await list(world, body.id)).status).toBe(200);
    expect((await list(world, "sesn_other")).status).toBe(404);
    expect((await list(world, body.id, "?page=made-up")).status).toBe(400);
    expect((await list(world, body.id, "?host=a")).status).toBe(400);
  });
});

describe("the network of a new session's sandboxes", () => {
  const LIMITED = {
    type: "limited",
    allowed_hosts: ["api.test"],
    allow_mcp_servers: true,
  } as const;

  const networkOf = async (world: World, networking: { type: string }) => {
    const config = { type: "cloud", networking };
    const environment = await world.request("POST", "/v1/environments", {
      name: networking.type,
      config,
    });
    const session = await world.request("POST", "/v1/sessions", {
      ...(await world.prepare()),
      environment_id: environment.body.id,
    });
    const key = { workspaceId: world.workspaceId, sessionId: session.body.id };
    return (await world.store.sessions.find(key))?.recipe.network;
  };

  test("is that of its environment, as it is then", async () => {
    const world = await openWorld();
    expect(await networkOf(world, { type: "unrestricted" })).toEqual({ type: "unrestricted" });
    const limited = { type: "limited", hosts: ["api.test"], mcp_servers: true };
    expect(await networkOf(world, LIMITED)).toEqual(limited);
  });

  test("is none where the operator said so", async () => {
    const world = await openWorld({ networkSetting: "none" });
    expect(await networkOf(world, { type: "unrestricted" })).toEqual({ type: "none" });
    expect(await networkOf(world, LIMITED)).toEqual({ type: "none" });
  });
});
