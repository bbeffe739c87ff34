import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Preview } from "../core/ports/announcements.ts";
import { openHarness, openWorld, type World } from "./world.testsuite.ts";

interface Frame {
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>> & {
    readonly id?: string;
    readonly type: string;
  };
}

const message = (text: string) => ({ type: "user.message", content: [{ type: "text", text }] });
const DELTAS = "event_deltas[]=agent.message&event_deltas[]=agent.thinking";

async function openSession(world: World, more: object = {}) {
  const { url } = await world.listen();
  const { body } = await world.request("POST", "/v1/sessions", {
    ...(await world.prepare()),
    ...more,
  });
  const path = `/v1/sessions/${body.id}/events`;
  const send = (text: string) => world.request("POST", path, { events: [message(text)] });
  return { id: body.id, url, path, send };
}

/** Opens a stream; resolves once its headers are there. */
async function openStream(world: World, address: string) {
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  const response = await fetch(address, {
    headers: { authorization: `Bearer ${world.key}` },
    signal: abort.signal,
  });
  return { response, abort, frames: framesOf(response) };
}

async function* framesOf(response: Response): AsyncGenerator<Frame> {
  let rest = "";
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    rest += chunk;
    const parts = rest.split("\n\n");
    rest = parts.pop() ?? "";
    for (const part of parts) {
      const [, event = "", data = ""] = /^event: (\S+)\ndata: (.*)$/.exec(part) ?? [];
      if (event === "") throw new Error(`a frame of another form: ${part}`);
      yield { event, data: JSON.parse(data) };
    }
  }
}

/** Reads until the given type has come, that one included. */
async function readTo(frames: AsyncGenerator<Frame>, type: string): Promise<Frame["data"][]> {
  const read: Frame["data"][] = [];
  for (let next = await frames.next(); !next.done; next = await frames.next()) {
    expect(next.value.event).toBe(next.value.data.type);
    read.push(next.value.data);
    if (next.value.event === type) return read;
  }
  throw new Error(`the stream ended before ${type}`);
}

async function collect(frames: AsyncGenerator<Frame>): Promise<Frame[]> {
  const collected: Frame[] = [];
  for await (const frame of frames) collected.push(frame);
  return collected;
}

const typesOf = (events: readonly Frame["data"][]) => events.map(({ type }) => type);

const start = (id: string, type = "agent.message"): Preview => ({
  type: "event_start",
  event: { type, id },
});
const delta = (id: string, text: string): Preview => ({
  type: "event_delta",
  event_id: id,
  delta: { type: "content_delta", index: 0, content: { type: "text", text } },
});

function preview(world: World, sessionId: string, threadId: string, what: Preview): void {
  const { workspaceId } = world;
  world.announcements.publish({ type: "preview", workspaceId, sessionId, threadId, preview: what });
}

const TURN = [
  "session.status_running",
  "session.thread_status_running",
  "user.message",
  "agent.message",
  "session.thread_status_idle",
  "session.status_idle",
];

describe("a stream", () => {
  test("is there before anything happens, as the client's own type of content", async () => {
    const world = await openWorld();
    const { url, path } = await openSession(world);
    const { response } = await openStream(world, `${url}${path}/stream`);
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-transform",
      "request-id": expect.stringMatching(/^req_/),
      "anthropic-workspace-id": world.workspaceId,
    });
  });

  test("shows input when it is accepted and again, same id, when it is taken up", async () => {
    const world = await openWorld();
    const { id, url, path, send } = await openSession(world);
    const { frames } = await openStream(world, `${url}${path}/stream`);
    const sent = (await send("hello")).body.data[0];
    const [queued] = await readTo(frames, "user.message");
    expect(queued).toEqual(sent);
    await (await openHarness(world, id)).turn("hi");
    const events = await readTo(frames, "session.status_idle");
    expect(typesOf(events)).toEqual(TURN);
    expect(events[2]).toEqual({ ...sent, processed_at: expect.any(String) });
    const { body } = await world.request("GET", path);
    expect(events).toEqual(body.data);
  });

  test("opened for the second turn shows nothing of a first one that was watched", async () => {
    const world = await openWorld();
    const { id, url, path, send } = await openSession(world);
    const first = await openStream(world, `${url}${path}/stream`);
    await send("first");
    const harness = await openHarness(world, id);
    await harness.turn("one");
    await readTo(first.frames, "session.status_idle");
    const second = await openStream(world, `${url}${path}/stream`);
    const { body } = await send("second");
    await harness.turn("two");
    const events = await readTo(second.frames, "session.status_idle");
    expect(events[0]).toEqual(body.data[0]);
  });

  test("opened after a whole turn begins at its input, once", async () => {
    const world = await openWorld();
    const { id, url, path, send } = await openSession(world);
    await send("first");
    await (await openHarness(world, id)).turn("one");
    const { frames } = await openStream(world, `${url}${path}/stream`);
    expect(typesOf(await readTo(frames, "session.status_idle"))).toEqual(TURN);
    const second = await openStream(world, `${url}${path}/stream`);
    await world.request("POST", `/v1/sessions/${id}`, { title: "now" });
    expect(typesOf(await readTo(second.frames, "session.updated"))).toEqual(["session.updated"]);
    expect(typesOf(await readTo(frames, "session.updated"))).toEqual(["session.updated"]);
  });

  test("opened after input begins before it, though other turns came earlier", async () => {
    const world = await openWorld();
    const { id, url, path, send } = await openSession(world, { initial_events: [message("a")] });
    const harness = await openHarness(world, id);
    await harness.turn("one");
    await send("second");
    await harness.turn("two");
    const { frames } = await openStream(world, `${url}${path}/stream`);
    const events = await readTo(frames, "session.status_idle");
    expect(typesOf(events)).toEqual(TURN);
    expect(events[2]).toMatchObject(message("second"));
  });

  test("never shows the log's own events, and is not held up by them", async () => {
    const world = await openWorld();
    const { id, url, path } = await openSession(world, { initial_events: [message("a")] });
    const { frames } = await openStream(world, `${url}${path}/stream?${DELTAS}`);
    const harness = await openHarness(world, id);
    await harness.append([harness.event("drover.retry_scheduled")]);
    await harness.append([harness.event("drover.retry_scheduled")]);
    preview(world, id, harness.threadId, start("sevt_next"));
    expect(typesOf(await readTo(frames, "event_start"))).toEqual(["event_start"]);
    await harness.turn("one");
    expect(typesOf(await readTo(frames, "session.status_idle"))).toEqual(TURN);
  });

  test("of a thread shows that thread, and only one that is there", async () => {
    const world = await openWorld();
    const { id, url, send } = await openSession(world);
    const { body } = await world.request("GET", `/v1/sessions/${id}/threads`);
    const thread = `${url}/v1/sessions/${id}/threads/${body.data[0]?.id}/stream`;
    const { frames } = await openStream(world, thread);
    await send("hello");
    const harness = await openHarness(world, id);
    await harness.append([harness.event("drover.retry_scheduled")]);
    await harness.turn("hi");
    expect(typesOf(await readTo(frames, "session.status_idle"))).toEqual(["user.message", ...TURN]);
    const none = await openStream(world, `${url}/v1/sessions/${id}/threads/sthr_x/stream`);
    expect(none.response.status).toBe(404);
  });

  test.each([
    ["/v1/sessions/sesn_nobody/events/stream", 404],
    ["?event_deltas[]=agent.tool_use", 400],
    [`?${Array.from({ length: 101 }, () => "event_deltas[]=agent.message").join("&")}`, 400],
    ["?after=sevt_1", 400],
  ])("is refused before it begins: %.60s", async (address, status) => {
    const world = await openWorld();
    const { url, path } = await openSession(world);
    const target = address.startsWith("/") ? `${url}${address}` : `${url}${path}/stream${address}`;
    const { response } = await openStream(world, target);
    expect([response.status, await response.json()]).toMatchObject([status, { type: "error" }]);
    expect(world.subscriptions()).toBe(0);
  });

  test("is pinged while nothing happens", async () => {
    const world = await openWorld({ streamLimits: { pingMs: 5 } });
    const { url, path } = await openSession(world);
    const { frames } = await openStream(world, `${url}${path}/stream`);
    expect((await frames.next()).value).toEqual({ event: "ping", data: { type: "ping" } });
  });

  test("finds by itself what was never announced", async () => {
    const world = await openWorld({ streamLimits: { pingMs: 5 } });
    const { url, path, send } = await openSession(world);
    const { frames } = await openStream(world, `${url}${path}/stream`);
    world.mute();
    await send("hello");
    const read = (async () => {
      for await (const frame of frames) if (frame.event === "user.message") return frame.data;
      throw new Error("the stream ended");
    })();
    expect(await read).toMatchObject(message("hello"));
  });

  test("ends with session.deleted, on every connection", async () => {
    const world = await openWorld();
    const { id, url, path } = await openSession(world);
    const streams = [
      await openStream(world, `${url}${path}/stream`),
      await openStream(world, `${url}${path}/stream`),
    ];
    await world.request("DELETE", `/v1/sessions/${id}`);
    const ends = await Promise.all(streams.map(({ frames }) => collect(frames)));
    expect(ends[0]).toMatchObject([
      { event: "session.deleted", data: { type: "session.deleted" } },
    ]);
    expect(ends[1]).toEqual(ends[0]);
    expect(world.subscriptions()).toBe(0);
  });

  test("is forgotten when its reader goes away", async () => {
    const world = await openWorld();
    const { url, path } = await openSession(world);
    const { abort } = await openStream(world, `${url}${path}/stream`);
    expect(world.subscriptions()).toBe(1);
    abort.abort();
    await expect.poll(() => world.subscriptions()).toBe(0);
    expect(world.logged).toEqual([]);
  });

  test("is refused beyond as many as the process takes", async () => {
    const world = await openWorld({ streamLimits: { streamsMax: 1 } });
    const { url, path } = await openSession(world);
    const { abort } = await openStream(world, `${url}${path}/stream`);
    expect((await openStream(world, `${url}${path}/stream`)).response.status).toBe(503);
    abort.abort();
    const status = async () => (await openStream(world, `${url}${path}/stream`)).response.status;
    await expect.poll(status).toBe(200);
  });

  test("ends when the server stops, which takes no new one", async () => {
    const world = await openWorld();
    const { url, path } = await openSession(world);
    const { frames } = await openStream(world, `${url}${path}/stream`);
    world.shutdown.abort();
    expect(await collect(frames)).toEqual([]);
    expect((await openStream(world, `${url}${path}/stream`)).response.status).toBe(503);
  });
});

describe("while nothing can be written", () => {
  test("streams open all the same, posts answer 503, and /health says why", async () => {
    const world = await openWorld();
    const { id, url, path, send } = await openSession(world, { initial_events: [message("a")] });
    const harness = await openHarness(world, id);
    world.failWrites("The disk is full.");
    const { response, frames } = await openStream(world, `${url}${path}/stream`);
    expect(response.status).toBe(200);
    const refused = await send("b");
    expect([refused.status, refused.body.error.type]).toEqual([503, "overloaded_error"]);
    expect(refused.headers.get("x-should-retry")).toBeNull();
    const health = await fetch(`${url}/health`);
    expect([health.status, await health.json()]).toEqual([
      503,
      { status: "unavailable", message: "The disk is full." },
    ]);
    world.failWrites(undefined);
    await harness.turn("one");
    expect(typesOf(await readTo(frames, "session.status_idle"))).toEqual(TURN);
    expect(world.logged).toEqual([]);
  });
});

describe("previews", () => {
  test("come in their place between the events, then the whole under the same id", async () => {
    const world = await openWorld();
    const { id, url, path, send } = await openSession(world);
    const { frames } = await openStream(world, `${url}${path}/stream?${DELTAS}`);
    await send("hello");
    const harness = await openHarness(world, id);
    await harness.append([harness.event("span.model_request_start")]);
    preview(world, id, harness.threadId, start("sevt_thought", "agent.thinking"));
    preview(world, id, harness.threadId, start("sevt_answer"));
    preview(world, id, harness.threadId, delta("sevt_answer", "Good "));
    preview(world, id, harness.threadId, delta("sevt_answer", "day"));
    const content = [{ type: "text", text: "Good day" }];
    await harness.append([
      harness.event("agent.thinking", {}, "sevt_thought"),
      harness.event("agent.message", { content }, "sevt_answer"),
      harness.event("span.model_request_end", { model_request_start_id: "x" }),
    ]);
    // Too late: the message is there in full.
    preview(world, id, harness.threadId, delta("sevt_answer", "!"));
    preview(world, id, harness.threadId, start("sevt_answer"));
    await harness.append([harness.event("session.status_idle")]);
    const events = (await readTo(frames, "session.status_idle")).filter(
      (event) => event.type !== "user.message",
    );
    expect(typesOf(events)).toEqual([
      "span.model_request_start",
      "event_start",
      "event_start",
      "event_delta",
      "event_delta",
      "agent.thinking",
      "agent.message",
      "span.model_request_end",
      "session.status_idle",
    ]);
    expect(events[2]).toEqual(start("sevt_answer"));
    expect(events[3]).toEqual(delta("sevt_answer", "Good "));
    expect(events[6]).toMatchObject({ id: "sevt_answer", content });
  });

  test("come only to those who asked for their kind", async () => {
    const world = await openWorld();
    const { id, url, path, send } = await openSession(world);
    const plain = await openStream(world, `${url}${path}/stream`);
    const thinking = await openStream(world, `${url}${path}/stream?event_deltas=agent.thinking`);
    await send("hello");
    const harness = await openHarness(world, id);
    preview(world, id, harness.threadId, start("sevt_thought", "agent.thinking"));
    preview(world, id, harness.threadId, start("sevt_answer"));
    preview(world, id, harness.threadId, delta("sevt_answer", "a"));
    preview(world, id, "sthr_other", start("sevt_other", "agent.thinking"));
    await harness.turn("a");
    expect(typesOf(await readTo(plain.frames, "session.status_idle"))).toEqual([
      "user.message",
      ...TURN,
    ]);
    expect(typesOf(await readTo(thinking.frames, "session.status_idle"))).toEqual([
      "user.message",
      "event_start",
      ...TURN,
    ]);
  });

  test("never begin in the middle for a reader that came late", async () => {
    const world = await openWorld();
    const { id, url, path, send } = await openSession(world);
    await send("hello");
    const harness = await openHarness(world, id);
    preview(world, id, harness.threadId, start("sevt_answer"));
    const { frames } = await openStream(world, `${url}${path}/stream?${DELTAS}`);
    preview(world, id, harness.threadId, delta("sevt_answer", "half"));
    await harness.turn("whole", "sevt_answer");
    expect(typesOf(await readTo(frames, "session.status_idle"))).toEqual(TURN);
  });
});

describe("slow readers", () => {
  test("get every event in order, whatever they miss of previews, and hold up nobody", async () => {
    const world = await openWorld();
    const { id, url, path } = await openSession(world, { initial_events: [message("go")] });
    const slow = await openStream(world, `${url}${path}/stream?${DELTAS}`);
    const quick = await openStream(world, `${url}${path}/stream`);
    const harness = await openHarness(world, id);
    const text = "x".repeat(50_000);
    const count = 200;
    for (let index = 0; index < count; index++) {
      const answer = `sevt_${index}`;
      preview(world, id, harness.threadId, start(answer));
      preview(world, id, harness.threadId, delta(answer, text));
      preview(world, id, harness.threadId, delta(answer, text));
      await harness.append([
        harness.event("agent.message", { content: [{ type: "text", text }] }, answer),
      ]);
    }
    await harness.append([harness.event("session.status_idle")]);
    const seen = (await readTo(quick.frames, "session.status_idle")).map((event) => event.id);
    const all = (await world.request("GET", path)).body.data.map((event) => event.id);
    // The input still waits: nobody took it up.
    expect(seen).toEqual(all.slice(0, -1));
    const late = await readTo(slow.frames, "session.status_idle");
    const isPreview = (event: Frame["data"]) => /^event_/.test(event.type);
    expect(late.filter((event) => !isPreview(event)).map((event) => event.id)).toEqual(seen);
    expectWholePreviews(late);
    // Thirty megabytes go through it.
  }, 60_000);
});

function expectWholePreviews(events: readonly Frame["data"][]): void {
  let open: unknown;
  for (const event of events) {
    if (event.type === "event_start") open = (event["event"] as { id: string }).id;
    if (event.type === "event_delta") expect(event["event_id"]).toBe(open);
    if (event.type === "agent.message" && event.id === open) open = undefined;
  }
}

describe("the official client", () => {
  const client = (world: World, baseURL: string) =>
    new Anthropic({ apiKey: world.key, baseURL, maxRetries: 0 });

  test("opens the stream, sends, and reads to idle", async () => {
    const world = await openWorld();
    const { id, url } = await openSession(world);
    const { sessions } = client(world, url).beta;
    const stream = await sessions.events.stream(id);
    await sessions.events.send(id, { events: [message("hello") as never] });
    await (await openHarness(world, id)).turn("hi");
    const types: string[] = [];
    for await (const event of stream) {
      types.push(event.type);
      if (event.type === "session.status_idle") break;
    }
    expect(types).toEqual(["user.message", ...TURN]);
    await expect.poll(() => world.subscriptions()).toBe(0);
  });

  test("sends first, opens the stream after the answer, and still reads to idle", async () => {
    const world = await openWorld();
    const { id, url } = await openSession(world);
    const { sessions } = client(world, url).beta;
    await sessions.events.send(id, { events: [message("hello") as never] });
    await (await openHarness(world, id)).turn("hi");
    const types: string[] = [];
    for await (const event of await sessions.events.stream(id)) {
      types.push(event.type);
      if (event.type === "session.status_idle") break;
    }
    expect(types).toEqual(TURN);
  });

  test("resumes by stream and list without a gap, and pages what it lists", async () => {
    const world = await openWorld();
    const { id, url, send } = await openSession(world);
    const { sessions } = client(world, url).beta;
    await send("one");
    const harness = await openHarness(world, id);
    await harness.turn("1");
    const stream = await sessions.events.stream(id);
    await send("two");
    await harness.turn("2");
    const ids = new Set<string>();
    for await (const event of sessions.events.list(id, { limit: 3 })) ids.add(event.id);
    const before = ids.size;
    let idles = 0;
    for await (const event of stream) {
      if ("id" in event) ids.add(event.id);
      if (event.type === "session.status_idle") idles += 1;
      if (idles === 2) break;
    }
    expect([before, ids.size]).toEqual([12, 12]);
  });

  test("reads errors by their class and manages sessions", async () => {
    const world = await openWorld();
    const { id, url } = await openSession(world);
    const { sessions } = client(world, url).beta;
    await expect(sessions.retrieve("sesn_nobody")).rejects.toMatchObject({
      status: 404,
      requestID: expect.stringMatching(/^req_/),
    });
    await sessions.update(id, { title: "T" });
    const page = await sessions.list({ limit: 1, statuses: ["idle"] });
    expect(page.data[0]).toMatchObject({ id, title: "T" });
    expect(await sessions.archive(id)).toMatchObject({ status: "terminated" });
    expect(await sessions.delete(id)).toEqual({ id, type: "session_deleted" });
  });
});
