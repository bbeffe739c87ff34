import { describe, expect, test } from "vitest";
import { openHarness, openWorld, type World } from "../world.testsuite.ts";

const message = (text: string) => ({ type: "user.message", content: [{ type: "text", text }] });
const PNG = `iVBORw0KGgo${"A".repeat(13)}`;

async function openSession(world: World, more: object = {}) {
  const { body } = await world.request("POST", "/v1/sessions", {
    ...(await world.prepare()),
    ...more,
  });
  return { id: body.id, path: `/v1/sessions/${body.id}/events` };
}

async function listed(world: World, path: string, query = "") {
  const { body } = await world.request("GET", `${path}?${query}`);
  return body.data;
}

describe("send", () => {
  test("echoes what it accepted, with final ids, and shows the session as running", async () => {
    const world = await openWorld();
    const { id, path } = await openSession(world);
    const events = [message("hello"), { type: "user.interrupt" }];
    const { status, body } = await world.request("POST", path, { events });
    expect(status).toBe(200);
    expect(body).toEqual({
      data: events.map((event) => ({
        id: expect.stringMatching(/^sevt_\w{22}$/),
        ...event,
        processed_at: null,
      })),
    });
    const ids = body.data.map((event) => event.id);
    expect((await listed(world, path)).map((event) => event.id)).toEqual(ids);
    expect((await world.request("GET", `/v1/sessions/${id}`)).body.status).toBe("running");
    await (await openHarness(world, id)).turn("hi");
    const after = await listed(world, path, "types[]=user.message&types[]=user.interrupt");
    expect(after.map((event) => event.id)).toEqual(ids);
    expect(after.map((event) => typeof event.processed_at)).toEqual(["string", "string"]);
  });

  test("takes images, documents and links that a model can take", async () => {
    const world = await openWorld();
    const { path } = await openSession(world);
    const pdf = Buffer.from("%PDF-1.7 and more..").toString("base64");
    const content = [
      { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } },
      { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
      { type: "document", source: { type: "base64", media_type: "application/pdf", data: pdf } },
      {
        type: "document",
        source: { type: "text", media_type: "text/plain", data: "notes" },
        title: "N",
      },
    ];
    const events = [{ type: "user.message", content }];
    const { status, body } = await world.request("POST", path, { events });
    expect([status, body.data]).toMatchObject([200, [{ content }]]);
  });

  const image = (source: object) => ({
    type: "user.message",
    content: [{ type: "image", source }],
  });
  const base64 = (media_type: string, data: string) => image({ type: "base64", media_type, data });
  test.each<[string, object, number, string]>([
    ["empty text", message(""), 400, "events.1.content.0.text"],
    ["blank text", message(" \n"), 400, "events.1.content.0.text"],
    ["no content", { type: "user.message", content: [] }, 400, "content"],
    ["a redacted block", { type: "user.message", content: [{ type: "redacted" }] }, 400, "content"],
    ["broken base64", base64("image/png", "a*b="), 400, "source.data"],
    ["base64 that is cut", base64("image/png", PNG.slice(0, -1)), 400, "source.data"],
    ["an image of another kind", base64("image/jpeg", PNG), 400, "image/jpeg"],
    ["an unknown media type", base64("image/tiff", PNG), 400, "media_type"],
    ["a type from the prototype", base64("constructor", PNG), 400, "media_type"],
    ["a link to a local file", image({ type: "url", url: "file:///etc/passwd" }), 400, "url"],
    ["a stored file that is not there", image({ type: "file", file_id: "file_1" }), 404, "file_1"],
    ["another thread", { type: "user.interrupt", session_thread_id: "sthr_x" }, 400, "sthr_x"],
    [
      "an answer to nobody",
      { type: "user.tool_confirmation", tool_use_id: "sevt_1", result: "allow" },
      400,
      "sevt_1",
    ],
    [
      "a reason to allow",
      {
        type: "user.tool_confirmation",
        tool_use_id: "sevt_1",
        result: "allow",
        deny_message: "no",
      },
      400,
      "deny_message",
    ],
    [
      "an answer to nobody whose thread is named, which is ignored",
      {
        type: "user.tool_confirmation",
        tool_use_id: "sevt_1",
        result: "allow",
        session_thread_id: "sthr_1",
      },
      400,
      "sevt_1",
    ],
    [
      "a result of nobody",
      { type: "user.custom_tool_result", custom_tool_use_id: "sevt_1" },
      400,
      "sevt_1",
    ],
    ["a worker's result", { type: "user.tool_result", tool_use_id: "sevt_1" }, 400, "self-hosted"],
    [
      "an outcome",
      { type: "user.define_outcome", description: "d", rubric: { type: "text", content: "c" } },
      501,
      "user.define_outcome",
    ],
    ["what agents say", { type: "agent.message", content: [] }, 400, "events.1"],
    ["an unknown field", { ...message("a"), colour: "red" }, 400, "colour"],
  ])("refuses %s and with it the whole request", async (_name, event, status, named) => {
    const world = await openWorld();
    const { path } = await openSession(world);
    const answer = await world.request("POST", path, { events: [message("good"), event] });
    expect([answer.status, answer.body.error.message]).toEqual([
      status,
      expect.stringContaining(named),
    ]);
    expect(await listed(world, path)).toEqual([]);
  });

  const system = { type: "system.message", content: [{ type: "text", text: "Be brief." }] };
  test.each<[string, object[], number, string]>([
    [
      "of nothing visible",
      [message("a"), { ...system, content: [{ type: "text", text: " " }] }],
      400,
      "events.1.content.0.text",
    ],
    ["alone", [system], 400, "events.0: a system.message must directly follow"],
    ["after an interrupt", [{ type: "user.interrupt" }, system], 400, "must directly follow"],
    ["before other input", [message("a"), system, message("b")], 400, "events.1"],
    ["twice", [message("a"), system, system], 400, "must be the last event"],
  ])("refuses a system message %s", async (_name, events, status, named) => {
    const world = await openWorld();
    const { path } = await openSession(world);
    const answer = await world.request("POST", path, { events });
    expect([answer.status, answer.body.error.message]).toEqual([
      status,
      expect.stringContaining(named),
    ]);
    expect(await listed(world, path)).toEqual([]);
  });

  test("refuses an image over 5 MB, which would fail every later turn", async () => {
    const world = await openWorld();
    const { path } = await openSession(world);
    const data = PNG.slice(0, 8) + "A".repeat(7 * 1024 * 1024);
    const events = [base64("image/png", data)];
    expect((await world.request("POST", path, { events })).status).toBe(400);
  });

  test("bounds what is sent at once and what waits", async () => {
    const world = await openWorld();
    const { path } = await openSession(world);
    const send = (count: number) =>
      world.request("POST", path, { events: Array.from({ length: count }, () => message("x")) });
    expect((await send(0)).status).toBe(400);
    expect((await send(101)).status).toBe(400);
    for (let count = 0; count < 10; count++) expect((await send(100)).status).toBe(200);
    expect((await send(1)).status).toBe(400);
  });
});

describe("list", () => {
  test("shows the log, then what waits, in pages; the reverse when asked", async () => {
    const world = await openWorld();
    const { id, path } = await openSession(world, { initial_events: [message("one")] });
    const harness = await openHarness(world, id);
    await harness.append([harness.event("drover.retry_scheduled")]);
    await harness.turn("two");
    await world.request("POST", path, { events: [message("three"), message("four")] });
    const all = await listed(world, path);
    expect(all.map((event) => event.type)).toEqual([
      "session.status_running",
      "session.thread_status_running",
      "user.message",
      "agent.message",
      "session.thread_status_idle",
      "session.status_idle",
      "user.message",
      "user.message",
    ]);
    expect(all.map((event) => event.processed_at === null)).toEqual([
      ...Array.from({ length: 6 }, () => false),
      true,
      true,
    ]);
    for (const limit of [1, 2, 3, 5, 7, 8]) {
      expect(await walk(world, path, `limit=${limit}`)).toEqual(all);
      expect(await walk(world, path, `limit=${limit}&order=desc`)).toEqual(all.toReversed());
    }
    const thread = `/v1/sessions/${id}/threads/${harness.threadId}/events`;
    expect(await walk(world, thread, "limit=3")).toEqual(all);
  });

  test("filters by type, time and place", async () => {
    const world = await openWorld();
    const { id, path } = await openSession(world, { initial_events: [message("one")] });
    await (await openHarness(world, id)).turn("two");
    await world.request("POST", path, { events: [message("three")] });
    const all = await listed(world, path);
    const ids = async (query: string) => (await listed(world, path, query)).map(({ id }) => id);
    const idsOf = (from: number, to?: number) => all.slice(from, to).map(({ id }) => id);
    expect(await ids("types[]=user.message")).toEqual([all[2]?.id, all[6]?.id]);
    expect(await ids("types=agent.message")).toEqual([all[3]?.id]);
    expect(await ids("types[]=workflow_run.created")).toEqual([]);
    expect(await ids("created_at[gte]=2000-01-01T00:00:00Z")).toEqual(idsOf(0, 6));
    expect(await ids("created_at[lt]=2000-01-01T00:00:00Z")).toEqual([]);
    expect(await ids(`after=${all[3]?.id}`)).toEqual(idsOf(4));
    expect(await ids(`before=${all[3]?.id}`)).toEqual(idsOf(0, 3));
    expect(await ids(`after=${all[1]?.id}&before=${all[4]?.id}&order=desc`)).toEqual(
      idsOf(2, 4).toReversed(),
    );
  });

  test.each([
    "types[]=session.deleted",
    "types[]=drover.call_started",
    "after=sevt_nobody",
    "limit=1001",
    "order=random",
    "page=x",
  ])("refuses %s", async (query) => {
    const world = await openWorld();
    const { path } = await openSession(world);
    expect((await world.request("GET", `${path}?${query}`)).status).toBe(400);
  });

  test("loses nothing that is taken up between two pages", async () => {
    const world = await openWorld();
    const { id, path } = await openSession(world, {
      initial_events: [message("one"), message("two"), message("three")],
    });
    for (const order of ["asc", "desc"]) {
      const first = (await world.request("GET", `${path}?limit=2&order=${order}`)).body;
      if (order === "asc") await (await openHarness(world, id)).turn("done");
      const rest = await walk(world, path, `limit=2&order=${order}`, first.next_page);
      const seen = new Set([...first.data, ...rest].map((event) => event.id));
      const all = (await listed(world, path)).filter((event) => event.type === "user.message");
      expect(all.filter((event) => !seen.has(event.id))).toEqual([]);
    }
  });
});

async function walk(world: World, path: string, query: string, from?: string | null) {
  const events = [];
  let page = from;
  do {
    const cursor = page ? `&page=${page}` : "";
    const { body } = await world.request("GET", `${path}?${query}${cursor}`);
    events.push(...body.data);
    page = body.next_page;
  } while (page !== null);
  return events;
}
