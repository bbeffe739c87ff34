import { describe, expect, test } from "vitest";
import { draft, statusRunning, threadStatus } from "../../core/harness/drafting.ts";
import { END_TURN, idleDrafts } from "../../core/harness/steps.ts";
import type { ModelBlock, ModelOutcome } from "../../core/ports/model.ts";
import { fold } from "../../core/session/fold.ts";
import { newId } from "../../lib/new-id.ts";
import {
  committed,
  responded,
  testDrafting,
  text,
  toolUse,
  userMessage,
} from "../../testing/logs.ts";
import type { AppDeps } from "../app.ts";
import { openHarness, openWorld, type World } from "../world.testsuite.ts";

type Ask = AppDeps["askModel"];

const response = (...blocks: readonly ModelBlock[]): ModelOutcome => ({
  type: "response",
  blocks,
  stop_reason: blocks.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn",
  usage: { input_tokens: 10, output_tokens: 2 },
  request_id: undefined,
});

const failure: ModelOutcome = {
  type: "failure",
  kind: "overloaded",
  message: "too busy",
  retryable: true,
};

/** A session whose log has a turn for each text. */
async function talked(world: World, texts: readonly string[]) {
  const { body } = await world.request("POST", "/v1/sessions", {
    ...(await world.prepare()),
    initial_events: [{ type: "user.message", content: [{ type: "text", text: "begin" }] }],
  });
  const harness = await openHarness(world, body.id);
  const id = () => newId("sevt");
  const drafting = { ...testDrafting(), threadId: harness.threadId, newId: id };
  const starts: string[] = [];
  for (const said of texts) {
    const start = id();
    starts.push(start);
    const drafts = [
      statusRunning(drafting),
      threadStatus(drafting, "session.thread_status_running"),
      userMessage(drafting, `ask for ${said}`),
      draft(
        drafting,
        "span.model_request_start",
        { public: {}, private: { model: "m", attempt: 1 } },
        start,
      ),
      ...responded(drafting, said === "a call" ? [toolUse("toolu_1")] : [text(said)], start),
    ];
    await harness.append(
      [...drafts, ...idleDrafts(END_TURN, fold(committed(drafts)), drafting)],
      "idle",
    );
  }
  return { id: body.id, starts };
}

async function replay(world: World, id: string, params: object = {}, key = world.key) {
  const result = await world.app.request(`/v1/drover/sessions/${id}/replay`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(params),
  });
  const body = await result.text();
  const lines = body
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  return { status: result.status, lines, summary: lines.at(-1) };
}

describe("a replay", () => {
  test("asks another model at each request, with what came before it, and says what differs", async () => {
    const asked: Parameters<Ask>[0][] = [];
    const answers = [response(text("one")), response(text("a cat sat")), response(text("no call"))];
    const world = await openWorld({
      askModel: async (one) => {
        asked.push(one);
        return answers[asked.length - 1] ?? failure;
      },
    });
    const { id, starts } = await talked(world, ["one", "the cat sat", "a call"]);
    const before = await world.store.events.getEvents(
      { workspaceId: world.workspaceId, sessionId: id },
      { limit: 100 },
    );
    const { status, lines, summary } = await replay(world, id, {
      agent: { model: "claude-haiku-4-5", system: "Be brief." },
    });
    expect(status).toBe(200);
    expect(lines.slice(0, 3)).toMatchObject([
      {
        type: "replay.request",
        event_id: starts[0],
        outcome: "compared",
        same: true,
        model: { recorded: "m", replayed: "claude-haiku-4-5" },
      },
      {
        event_id: starts[1],
        same: false,
        text: { similarity: 0.667, recorded: "the cat sat", replayed: "a cat sat" },
      },
      {
        event_id: starts[2],
        same: false,
        tool_calls: { same: false, recorded: [{ name: "bash" }], replayed: [] },
        stop_reason: { recorded: "end_turn", replayed: "end_turn" },
        usage: { replayed: { input_tokens: 10, output_tokens: 2 } },
      },
    ]);
    expect(summary).toEqual({
      type: "replay.summary",
      session_id: id,
      model: "claude-haiku-4-5",
      requests: { asked: 3, same: 1, same_tool_calls: 2, failed: 0 },
      usage: {
        recorded: { input_tokens: 0, output_tokens: 0, cache_read_input_tokens: 0 },
        replayed: { input_tokens: 30, output_tokens: 6, cache_read_input_tokens: 0 },
      },
      stopped: null,
    });
    expect(asked.map(({ session }) => [session.agent.model.id, session.agent.system])).toEqual(
      [1, 2, 3].map(() => ["claude-haiku-4-5", "Be brief."]),
    );
    const messages = asked.map(
      ({ context }) => context.filter(({ type }) => type === "user.message").length,
    );
    expect(messages).toEqual([1, 2, 3]);
    const key = { workspaceId: world.workspaceId, sessionId: id };
    expect(await world.store.events.getEvents(key, { limit: 100 })).toEqual(before);
  });

  test("asks no more often than it may, and from where to where it is told", async () => {
    let count = 0;
    const world = await openWorld({
      askModel: async () => {
        count += 1;
        return response(text("x"));
      },
    });
    const { id, starts } = await talked(world, ["a", "b", "c", "d"]);
    const few = await replay(world, id, { max_requests: 2 });
    expect([count, few.summary]).toMatchObject([
      2,
      { requests: { asked: 2 }, stopped: "max_requests" },
    ]);
    const all = await replay(world, id, { max_requests: 4 });
    expect(all.summary).toMatchObject({ requests: { asked: 4 }, stopped: null });
    const some = await replay(world, id, { from_event_id: starts[1], to_event_id: starts[2] });
    expect(some.lines.slice(0, -1).map(({ event_id }) => event_id)).toEqual([starts[1], starts[2]]);
  });

  test("gives a model up that cannot be had, and goes on after single failures", async () => {
    let count = 0;
    const outcomes = [failure, response(text("b")), failure, failure, failure];
    const world = await openWorld({
      askModel: async () => {
        count += 1;
        return outcomes[count - 1] ?? response(text("x"));
      },
    });
    const { id } = await talked(world, ["a", "b", "c", "d", "e", "f", "g"]);
    const { lines, summary } = await replay(world, id);
    expect(lines[0]).toMatchObject({
      outcome: "failed",
      error: { kind: "overloaded", message: "too busy" },
    });
    expect([count, summary]).toMatchObject([
      5,
      { requests: { asked: 5, same: 1, failed: 4 }, stopped: "failures" },
    ]);
  });

  test("ends with its connection, also in the middle of an answer", async () => {
    const begun = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<string>();
    const world = await openWorld({
      askModel: async (_asked, signal) => {
        begun.resolve();
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
        ended.resolve("aborted");
        return failure;
      },
    });
    const { id } = await talked(world, ["a", "b"]);
    const { url } = await world.listen();
    const client = new AbortController();
    const sent = fetch(`${url}/v1/drover/sessions/${id}/replay`, {
      method: "POST",
      headers: { authorization: `Bearer ${world.key}`, "content-type": "application/json" },
      body: "{}",
      signal: client.signal,
    }).then((answer) => answer.text());
    const refused = expect(sent).rejects.toThrow();
    await begun.promise;
    client.abort();
    await refused;
    expect(await ended.promise).toBe("aborted");
  });

  test.each<[object, number, string]>([
    [{ max_requests: 0 }, 400, "max_requests"],
    [{ max_requests: 501 }, 400, "max_requests"],
    [{ from_event_id: "sevt_none" }, 404, "from_event_id"],
    [{ to_event_id: "sevt_none" }, 404, "to_event_id"],
    [{ agent: { skills: [] } }, 400, "agent.skills"],
    [{ agent: { tools: [{ type: "none" }] } }, 400, "agent.tools"],
  ])("is refused with %j", async (params, status, place) => {
    const world = await openWorld({ askModel: async () => response(text("a")) });
    const { id } = await talked(world, ["a"]);
    const refused = await replay(world, id, params);
    expect([refused.status, refused.summary.error.message]).toEqual([
      status,
      expect.stringContaining(place),
    ]);
    expect((await replay(world, id)).status).toBe(200);
  });

  test("is refused to strangers, to who may only read, and backwards", async () => {
    const world = await openWorld({ askModel: async () => response(text("a")) });
    const { id, starts } = await talked(world, ["a", "b"]);
    const reader = await world.addKey("read_only", world.workspaceId);
    expect((await replay(world, id, {}, reader.key)).status).toBe(403);
    expect((await replay(world, id, {}, (await world.addKey("admin")).key)).status).toBe(404);
    const backwards = { from_event_id: starts[1], to_event_id: starts[0] };
    expect((await replay(world, id, backwards)).status).toBe(400);
  });
});
