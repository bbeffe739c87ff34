import { describe, expect, test } from "vitest";
import type { CheckpointOutcome } from "../../core/ports/checkpoints.ts";
import { newId } from "../../lib/new-id.ts";
import { openHarness, openWorld, UNPRICED_MODEL, type World } from "../world.testsuite.ts";

async function sessionWithTurn(world: World, params: object = {}) {
  const { body } = await world.request("POST", "/v1/sessions", {
    ...(await world.prepare()),
    title: "The first",
    metadata: { team: "blue" },
    initial_events: [{ type: "user.message", content: [{ type: "text", text: "hello" }] }],
    ...params,
  });
  const harness = await openHarness(world, body.id);
  await harness.turn("Hello to you.");
  await harness.release();
  return { id: body.id, body, harness };
}

const fork = (world: World, id: string, params: object = {}, headers = {}) =>
  world.request("POST", `/v1/drover/sessions/${id}/fork`, params, headers);

const eventsOf = async (world: World, id: string) =>
  (await world.request("GET", `/v1/sessions/${id}/events`)).body.data;

const withoutIds = (events: Awaited<ReturnType<typeof eventsOf>>) =>
  events.map(({ id: _id, ...event }) => ({ ...event, session_thread_id: undefined }));

describe("a fork", () => {
  test("of a session at rest has all that happened, and is a session of its own", async () => {
    const world = await openWorld();
    const { id, body } = await sessionWithTurn(world);
    const forked = await fork(world, id);
    expect(forked.status).toBe(200);
    const { created_at, updated_at, stats, usage, ...same } = body as never as Record<
      string,
      object
    >;
    expect(forked.body).toMatchObject({
      ...same,
      id: expect.not.stringContaining(id),
      status: "idle",
    });
    const [old, made] = [await eventsOf(world, id), await eventsOf(world, forked.body.id)];
    expect(withoutIds(made)).toEqual(withoutIds(old));
    expect(made.map((event) => event.id).some((one) => old.some((other) => other.id === one))).toBe(
      false,
    );
    expect(await eventsOf(world, id)).toEqual(old);
    const sent = await world.request("POST", `/v1/sessions/${forked.body.id}/events`, {
      events: [{ type: "user.message", content: [{ type: "text", text: "and?" }] }],
    });
    expect(sent.status).toBe(200);
    expect(await eventsOf(world, id)).toEqual(old);
    expect((await world.request("DELETE", `/v1/sessions/${id}`)).status).toBe(200);
    expect((await eventsOf(world, forked.body.id)).length).toBe(made.length + 1);
  });

  test("can be cut off at an event, and be another agent", async () => {
    const world = await openWorld();
    const { id } = await sessionWithTurn(world);
    const old = await eventsOf(world, id);
    const message = old.find(({ type }) => type === "user.message");
    const { status, body } = await fork(world, id, {
      event_id: message?.id,
      title: "The second",
      metadata: {},
      agent: { model: "claude-haiku-4-5", system: "Be brief." },
    });
    expect([status, body]).toMatchObject([
      200,
      {
        title: "The second",
        metadata: {},
        agent: { model: { id: "claude-haiku-4-5" }, system: "Be brief.", name: "scout" },
      },
    ]);
    const made = await eventsOf(world, body.id);
    expect(made.map(({ type }) => type)).toEqual([
      "session.status_running",
      "session.thread_status_running",
      "user.message",
      "session.thread_status_idle",
      "session.usage",
      "session.status_idle",
    ]);
    const key = { workspaceId: world.workspaceId, sessionId: body.id };
    const [mark] = await world.store.events.getEvents(key, { types: ["drover.forked"], limit: 1 });
    expect(mark).toMatchObject({ seq: 4, private: { session_id: id, event_id: message?.id } });
  });

  test("does not count the time since it was cut off as running time", async () => {
    let now = Date.parse("2026-01-02T00:00:00.000Z");
    const world = await openWorld({ now: () => now });
    const { id, harness } = await sessionWithTurn(world);
    const [first] = await eventsOf(world, id);
    await harness.release().catch(() => undefined);
    now += 3_600_000;
    const { body } = await fork(world, id, { event_id: first?.id });
    expect(body).toMatchObject({ status: "idle", stats: { active_seconds: 0 } });
  });

  test("has copies of the files, and the tokens sealed for their new places", async () => {
    const world = await openWorld();
    await world.putFile("file_1");
    const resources = [
      { type: "file", file_id: "file_1", mount_path: "/data.csv" },
      {
        type: "github_repository",
        url: "https://github.com/acme/widgets",
        authorization_token: "ghp_secret",
      },
    ];
    const { id, body } = await sessionWithTurn(world, { resources });
    const forked = await fork(world, id);
    expect(forked.status).toBe(200);
    const [file, repository] = forked.body.resources;
    expect(file?.file_id).not.toBe(body.resources[0]?.file_id);
    expect(forked.body.resources.map((one) => one.id)).not.toEqual(
      body.resources.map((one) => one.id),
    );
    await world.request("DELETE", `/v1/sessions/${id}`);
    const copy = await world.store.files.find(world.workspaceId, file?.file_id ?? "");
    expect(copy).toMatchObject({ session_id: forked.body.id, sha256: "a".repeat(64) });
    const key = { workspaceId: world.workspaceId, sessionId: forked.body.id };
    const record = await world.store.sessions.find(key);
    expect(record?.recipe.mounts).toMatchObject([{ mount_path: "/mnt/session/uploads/data.csv" }]);
    const sealed = await world.store.sessions.findRepositoryToken(key, repository?.id ?? "");
    const binding = `${world.workspaceId}/${forked.body.id}/${repository?.id}/authorization_token`;
    expect(world.secretBox.open(sealed ?? "", binding).reveal()).toBe("ghp_secret");
  });

  test("of an archived session is as it was before it was archived", async () => {
    const world = await openWorld();
    const { id } = await sessionWithTurn(world);
    const old = await eventsOf(world, id);
    await world.request("POST", `/v1/sessions/${id}/archive`);
    const { status, body } = await fork(world, id);
    expect([status, body.status, body.archived_at]).toEqual([200, "idle", null]);
    expect(withoutIds(await eventsOf(world, body.id))).toEqual(withoutIds(old));
    const last = (await eventsOf(world, id)).at(-1);
    const refused = await fork(world, id, { event_id: last?.id });
    expect([refused.status, refused.body.error.message]).toEqual([
      400,
      expect.stringContaining("terminated"),
    ]);
  });

  test("of a session without events is an empty one", async () => {
    const world = await openWorld();
    const made = await world.request("POST", "/v1/sessions", await world.prepare());
    const { status, body } = await fork(world, made.body.id);
    expect([status, await eventsOf(world, body.id)]).toEqual([200, []]);
  });

  test("takes effect once for a POST that is retried, and leaves nothing half made", async () => {
    const world = await openWorld();
    const { id } = await sessionWithTurn(world);
    const headers = { "idempotency-key": "once" };
    const [first, again] = [await fork(world, id, {}, headers), await fork(world, id, {}, headers)];
    expect(again.body).toEqual(first.body);
    const list = await world.request("GET", "/v1/sessions");
    expect(list.body.data).toHaveLength(2);
    expect(await leftBehind(world)).toEqual([]);
  });
});

/** Sends a call of the session to its own hand, and ends the turn. */
async function callHand(world: World, id: string, tool = "bash"): Promise<void> {
  await world.request("POST", `/v1/sessions/${id}/events`, {
    events: [{ type: "user.message", content: [{ type: "text", text: "again" }] }],
  });
  const key = { workspaceId: world.workspaceId, sessionId: id };
  const hand_id = (await world.store.sessions.find(key))?.hand_id;
  const harness = await openHarness(world, id);
  const use = harness.event("agent.tool_use", { name: tool, input: {} });
  const call = { call_id: use.id, hand_id, hands_boot: "boot_1" };
  await harness.append([
    { ...use, private: { request: newId("sevt"), blocks: [] } } as never,
    { ...harness.event("drover.call_started"), private: call } as never,
  ]);
  await harness.turn("Done.");
  await harness.release();
}

describe("the files of a session's sandbox", () => {
  const checkpoint = { sha256: "f".repeat(64), size_bytes: 10_240 };
  const recipeOf = async (world: World, id: string) => {
    const key = { workspaceId: world.workspaceId, sessionId: id };
    return (await world.store.sessions.find(key))?.recipe;
  };
  const noteOf = async (world: World, id: string) => {
    const key = { workspaceId: world.workspaceId, sessionId: id };
    const range = { types: ["drover.forked" as const], order: "desc" as const, limit: 1 };
    const [mark] = await world.store.events.getEvents(key, range);
    return mark?.type === "drover.forked" ? mark.private.note : undefined;
  };

  test("are what a fork at its newest event begins with, and stay in the store for it", async () => {
    const taken: string[] = [];
    const world = await openWorld({
      checkpoints: {
        take: async ({ handId }) => {
          taken.push(handId);
          return { type: "taken", checkpoint };
        },
      },
    });
    const { id } = await sessionWithTurn(world);
    const before = (await eventsOf(world, id)).at(-1);
    await callHand(world, id);
    const { status, body } = await fork(world, id);
    expect([status, await recipeOf(world, body.id), await noteOf(world, body.id)]).toMatchObject([
      200,
      { checkpoint },
      null,
    ]);
    const key = { workspaceId: world.workspaceId, sessionId: id };
    expect(taken).toEqual([(await world.store.sessions.find(key))?.hand_id]);
    const isKept = () =>
      world.store.write((tx) => tx.files.isReferenced(world.workspaceId, checkpoint.sha256));
    expect(await isKept()).toBe(true);
    // A fork that was not used yet is forked with what it began with; before that, they are not there.
    const again = await fork(world, body.id);
    expect(await recipeOf(world, again.body.id)).toMatchObject({ checkpoint });
    const copied = (await eventsOf(world, body.id)).at(-2);
    expect((await fork(world, body.id, { event_id: copied?.id })).status).toBe(409);
    const early = await fork(world, id, { event_id: before?.id });
    expect(await recipeOf(world, early.body.id)).not.toHaveProperty("checkpoint");
    const empty = await fork(world, id, { workspace: "empty" });
    expect(await recipeOf(world, empty.body.id)).not.toHaveProperty("checkpoint");
    expect(await noteOf(world, empty.body.id)).toContain("are not here");
    expect(taken).toHaveLength(1);
    for (const one of [body.id, again.body.id])
      await world.request("DELETE", `/v1/sessions/${one}`);
    expect(await isKept()).toBe(false);
    expect(await world.loose()).toContain(checkpoint.sha256);
  });

  test("are not kept if a call came while they were read, or they cannot be had", async () => {
    const outcomes: CheckpointOutcome[] = [
      { type: "taken", checkpoint },
      { type: "refused", message: "its files come to more than 5 bytes" },
      { type: "unavailable", message: "no hands can be started" },
    ];
    const ids: string[] = [];
    const world: World = await openWorld({
      checkpoints: {
        take: async () => {
          if (outcomes.length === 3) await callHand(world, ids[0] ?? "");
          return outcomes.shift() ?? { type: "unavailable", message: "" };
        },
      },
    });
    const { id } = await sessionWithTurn(world);
    ids.push(id);
    await callHand(world, id);
    const answers = [await fork(world, id), await fork(world, id), await fork(world, id)];
    expect(answers.map(({ status, body }) => [status, body.error.message])).toEqual([
      [409, expect.stringContaining("was used while its files were read")],
      [409, expect.stringContaining("more than 5 bytes")],
      [503, expect.stringContaining("no hands can be started")],
    ]);
    expect(await leftBehind(world)).toEqual([]);
    expect(await world.loose()).toContain(checkpoint.sha256);
  });

  test("have nothing to do with calls that need no sandbox", async () => {
    const world = await openWorld({
      checkpoints: { take: async () => ({ type: "taken", checkpoint }) },
    });
    const { id } = await sessionWithTurn(world);
    await callHand(world, id, "web_fetch");
    const first = await fork(world, id);
    expect([first.status, await recipeOf(world, first.body.id)]).toMatchObject([200, {}]);
    expect(await recipeOf(world, first.body.id)).not.toHaveProperty("checkpoint");
    await callHand(world, id);
    const used = (await eventsOf(world, id)).at(-1);
    await callHand(world, id, "web_search");
    const second = await fork(world, id, { event_id: used?.id });
    expect(await recipeOf(world, second.body.id)).toMatchObject({ checkpoint });
  });

  test("are not had at an event before the newest call", async () => {
    const world = await openWorld({
      checkpoints: { take: async () => ({ type: "taken", checkpoint }) },
    });
    const { id } = await sessionWithTurn(world);
    await callHand(world, id);
    const between = (await eventsOf(world, id)).at(-1);
    await callHand(world, id);
    const refused = await fork(world, id, { event_id: between?.id });
    expect([refused.status, refused.body.error.message]).toEqual([
      409,
      expect.stringContaining('workspace "empty"'),
    ]);
    expect((await fork(world, id)).status).toBe(200);
  });
});

describe("a fork is refused", () => {
  test("where the sandbox was used, unless its files are not wanted", async () => {
    const world = await openWorld();
    const { id, harness } = await sessionWithTurn(world);
    const before = (await eventsOf(world, id)).at(-1);
    await world.request("POST", `/v1/sessions/${id}/events`, {
      events: [{ type: "user.message", content: [{ type: "text", text: "again" }] }],
    });
    const again = await openHarness(world, id);
    const call = { call_id: "sevt_call", hand_id: "hand_1", hands_boot: "boot_1" };
    await again.append([{ ...harness.event("drover.call_started"), private: call } as never]);
    await again.turn("Done.");
    const refused = await fork(world, id);
    expect([refused.status, refused.body.error]).toMatchObject([
      409,
      { type: "conflict_error", message: expect.stringContaining('workspace "empty"') },
    ]);
    expect((await fork(world, id, { event_id: before?.id })).status).toBe(200);
    const { status, body } = await fork(world, id, { workspace: "empty" });
    expect(status).toBe(200);
    const key = { workspaceId: world.workspaceId, sessionId: body.id };
    const [mark] = await world.store.events.getEvents(key, { types: ["drover.forked"], limit: 1 });
    expect(mark?.private).toMatchObject({ note: expect.stringContaining("are not here") });
  });

  test.each<[string, object, number, string]>([
    ["at an event of nobody", { event_id: "sevt_none" }, 404, "event_id"],
    ["with an unknown field", { at: 3 }, 400, "at"],
    ["without a model", { agent: { model: null } }, 400, "agent.model"],
    ["with tools of no kind", { agent: { tools: [{ type: "none" }] } }, 400, "agent.tools"],
    [
      "with a skill of nobody",
      { agent: { skills: [{ type: "custom", skill_id: "skill_x" }] } },
      404,
      "agent.skills",
    ],
    ["with a workspace of no kind", { workspace: "full" }, 400, "workspace"],
  ])("%s", async (_what, params, status, place) => {
    const world = await openWorld();
    const { id } = await sessionWithTurn(world);
    const refused = await fork(world, id, params);
    expect([refused.status, refused.body.error.message]).toEqual([
      status,
      expect.stringContaining(place),
    ]);
    expect((await fork(world, id)).status).toBe(200);
    expect(await leftBehind(world)).toEqual([]);
  });

  test("of a session with a budget as an agent whose model has no price", async () => {
    const world = await openWorld();
    const budget = { type: "limit", max_list_cost: { amount: "5", currency: "USD" } };
    const params = { ...(await world.prepare()), budget };
    const { body: session } = await world.request("POST", "/v1/sessions", params);
    const refused = await fork(world, session.id, { agent: { model: UNPRICED_MODEL } });
    expect([refused.status, refused.body.error.details]).toEqual([
      400,
      { error_code: "model_not_budgetable" },
    ]);
    expect(await leftBehind(world)).toEqual([]);
    const { status, body } = await fork(world, session.id, {
      agent: { model: "claude-haiku-4-5" },
    });
    expect([status, body.budget]).toEqual([200, budget]);
    // What is raised later in the one is not in the other.
    await world.request("POST", `/v1/sessions/${session.id}`, { budget: null });
    const again = await world.request("GET", `/v1/sessions/${body.id}`);
    expect(again.body.budget).toEqual(budget);
    expect((await fork(world, session.id)).body.budget).toBeNull();
  });

  test("at input that waits, of another workspace's session, and with a key that may only read", async () => {
    const world = await openWorld();
    const { id } = await sessionWithTurn(world);
    const sent = await world.request("POST", `/v1/sessions/${id}/events`, {
      events: [{ type: "user.message", content: [{ type: "text", text: "waits" }] }],
    });
    const waiting = await fork(world, id, { event_id: sent.body.data[0]?.id });
    expect([waiting.status, waiting.body.error.message]).toEqual([
      400,
      expect.stringContaining("waits to be taken up"),
    ]);
    const stranger = { authorization: `Bearer ${(await world.addKey("developer")).key}` };
    expect((await fork(world, id, {}, stranger)).status).toBe(404);
    const reader = await world.addKey("read_only", world.workspaceId);
    expect((await fork(world, id, {}, { authorization: `Bearer ${reader.key}` })).status).toBe(403);
    const developer = await world.addKey("developer", world.workspaceId);
    const allowed = await fork(world, id, {}, { authorization: `Bearer ${developer.key}` });
    expect(allowed.status).toBe(200);
    expect(await eventsOf(world, allowed.body.id)).toHaveLength(
      (await eventsOf(world, id)).length - 1,
    );
  });

  test("while the environment is archived", async () => {
    const world = await openWorld();
    const { id, body } = await sessionWithTurn(world);
    const { environment_id } = body as never as { environment_id: string };
    await world.request("POST", `/v1/environments/${environment_id}/archive`);
    const refused = await fork(world, id);
    expect([refused.status, refused.body.error.message]).toEqual([
      400,
      expect.stringContaining("archived"),
    ]);
    expect(await leftBehind(world)).toEqual([]);
  });
});

async function leftBehind(world: World) {
  return await world.store.write((tx) => tx.copies.listAbandoned("9999-01-01T00:00:00Z", 100));
}
