import { describe, expect, test } from "vitest";
import type { Preview } from "../core/ports/announcements.ts";
import type { LogEvent } from "../core/session/log-event.ts";
import { openHarness, openWorld, type World } from "../http/world.testsuite.ts";
import { openStream } from "./streams.ts";
import { PreviewBuffer } from "./streams-previews.ts";
import { StreamReaders } from "./streams-readers.ts";
import { SharedReads } from "./streams-reads.ts";

const message = (text: string) => ({ type: "user.message", content: [{ type: "text", text }] });

async function openSession(world: World) {
  const { body } = await world.request("POST", "/v1/sessions", await world.prepare());
  const key = { workspaceId: world.workspaceId, sessionId: body.id };
  const send = (text: string) =>
    world.request("POST", `/v1/sessions/${body.id}/events`, { events: [message(text)] });
  const { store, announcements } = world;
  let readCount = 0;
  const reads = new SharedReads({
    getEvents: (...request) => {
      readCount += 1;
      return store.events.getEvents(...request);
    },
  });
  const deps = { store, announcements, reads, readers: new StreamReaders() };
  const open = async () => {
    let wakes = 0;
    const request = { key, previews: new Set(["agent.message"] as const) };
    const { feed } = await openStream(deps, request, () => {
      wakes += 1;
    });
    const read = async () => {
      const events: (Record<string, unknown> & { type: string })[] = [];
      for (;;) {
        const { frames } = await feed.pull();
        if (frames.length === 0) return events;
        events.push(...frames.map((frame) => JSON.parse(frame.data)));
      }
    };
    return { feed, read, wakes: () => wakes };
  };
  return { key, send, open, reads: () => readCount };
}

describe("a feed", () => {
  test("gives the queued form first of input that was taken up before it looked", async () => {
    const world = await openWorld();
    const { key, send, open } = await openSession(world);
    const { read, wakes } = await open();
    await send("hello");
    await (await openHarness(world, key.sessionId)).turn("hi");
    expect(wakes()).toBeGreaterThan(0);
    const input = (await read()).filter((event) => event.type === "user.message");
    expect(input.map((event) => event["processed_at"] === null)).toEqual([true, false]);
    expect(input[0]?.["id"]).toBe(input[1]?.["id"]);
  });

  test("shows such input before what was made of it, and once, however the log is cut", async () => {
    const world = await openWorld();
    const { key, send, open } = await openSession(world);
    const { read } = await open();
    await send("hello");
    const harness = await openHarness(world, key.sessionId);
    await harness.turn("x".repeat(70_000));
    await send("again");
    await harness.turn("x".repeat(70_000));
    const shown = await read();
    const queued = shown.filter((event) => event["processed_at"] === null);
    expect(queued).toHaveLength(2);
    expect(shown[0]).toBe(queued[0]);
    expect(shown.findIndex(({ type }) => type === "session.status_running")).toBeGreaterThan(0);
  });

  test("that is opened later does not show a turn that an open one saw, wherever it was sent", async () => {
    const world = await openWorld();
    // The world's own server does not know of these streams, as another server would not.
    const { key, send, open } = await openSession(world);
    const first = await open();
    await send("one");
    const harness = await openHarness(world, key.sessionId);
    await harness.turn("hi");
    expect((await first.read()).map(({ type }) => type)).toContain("agent.message");
    const second = await open();
    expect(await second.read()).toEqual([]);
    await send("two");
    expect((await second.read()).map(({ type }) => type)).toEqual(["user.message"]);
  });

  test("gives only the committed form of input that waited when it attached", async () => {
    const world = await openWorld();
    const { key, send, open } = await openSession(world);
    await send("hello");
    const { read } = await open();
    expect(await read()).toEqual([]);
    await (await openHarness(world, key.sessionId)).turn("hi");
    const input = (await read()).filter((event) => event.type === "user.message");
    expect(input.map((event) => event["processed_at"] === null)).toEqual([false]);
  });

  test("reads large events one write at a time and loses none", async () => {
    const world = await openWorld();
    const { key, send, open } = await openSession(world);
    const { feed } = await open();
    await send("hello");
    const harness = await openHarness(world, key.sessionId);
    const sizes = [10, 40_000, 40_000, 200_000, 10, 10, 90_000];
    await harness.append(
      sizes.map((size) =>
        harness.event("agent.message", { content: [{ type: "text", text: "x".repeat(size) }] }),
      ),
    );
    const pulls: number[][] = [];
    for (let next = await feed.pull(); next.frames.length > 0; next = await feed.pull()) {
      pulls.push(
        next.frames
          .map((frame) => JSON.parse(frame.data))
          .filter((event) => event.type === "agent.message")
          .map((event) => event.content[0].text.length),
      );
    }
    expect(pulls.flat()).toEqual(sizes);
    expect(pulls.filter((sizes) => sizes.length > 0)).toEqual([
      [10, 40_000, 40_000],
      [200_000],
      [10, 10],
      [90_000],
    ]);
  });

  test("is read once for all readers at the same place", async () => {
    const world = await openWorld();
    const { key, send, open, reads } = await openSession(world);
    await send("hello");
    const feeds = await Promise.all([open(), open(), open()]);
    await Promise.all(feeds.map(({ read }) => read()));
    const harness = await openHarness(world, key.sessionId);
    const before = reads();
    await harness.append([harness.event("session.status_running")]);
    const events = await Promise.all(feeds.map(({ read }) => read()));
    expect(events).toMatchObject(feeds.map(() => [{ type: "session.status_running" }]));
    expect(reads() - before).toBe(1);
  });

  test("starts live when the newest input is older than a minute", async () => {
    let now = Date.now();
    const world = await openWorld({ now: () => now });
    const { key, send, open } = await openSession(world);
    await send("hello");
    await (await openHarness(world, key.sessionId)).turn("hi");
    now += 61_000;
    expect(await (await open()).read()).toEqual([]);
  });
});

test("shared reads join only those that know of the same newest event", async () => {
  const pending: ((events: readonly LogEvent[]) => void)[] = [];
  const reads = new SharedReads({
    getEvents: () => new Promise((resolve) => pending.push(resolve)),
  });
  const read = (newestSeq: number) =>
    reads.getEvents({ workspaceId: "w", sessionId: "s" }, { after: 1, limit: 9 }, newestSeq);
  const [one, same, newer] = [read(1), read(1), read(2)];
  expect(pending).toHaveLength(2);
  const event = { seq: 2 } as LogEvent;
  pending[0]?.([]);
  pending[1]?.([event]);
  expect(await Promise.all([one, same, newer])).toEqual([[], [], [event]]);
  void read(1);
  expect(pending).toHaveLength(3);
});

describe("the preview buffer", () => {
  const start = (id: string): Preview => ({
    type: "event_start",
    event: { type: "agent.message", id },
  });
  const delta = (id: string, text: string): Preview => ({
    type: "event_delta",
    event_id: id,
    delta: { type: "content_delta", index: 0, content: { type: "text", text } },
  });
  const textsOf = (buffer: PreviewBuffer, seq: number) =>
    buffer.takeBefore(seq).map(({ type, data }) => {
      const { event, event_id, delta: part } = JSON.parse(data);
      return `${type} ${event?.id ?? `${event_id} ${part.content.text.slice(0, 5)}`}`;
    });
  const open = () => new PreviewBuffer(new Set(["agent.message"] as const));

  test("keeps each in its place among the events", () => {
    const buffer = open();
    buffer.add(start("a"), 3);
    buffer.add(delta("a", "one"), 3);
    buffer.add(delta("a", "two"), 4);
    expect(textsOf(buffer, 3)).toEqual([]);
    expect(textsOf(buffer, 4)).toEqual(["event_start a", "event_delta a one"]);
    expect(textsOf(buffer, 5)).toEqual(["event_delta a two"]);
  });

  test("sheds the rest of a preview whose reader does not keep up, never its middle", () => {
    const buffer = open();
    buffer.add(start("a"), 0);
    buffer.add(delta("a", "first".padEnd(40_000)), 0);
    buffer.add(delta("a", "large".padEnd(40_000)), 0);
    buffer.add(delta("a", "small"), 0);
    expect(textsOf(buffer, 1)).toEqual(["event_start a", "event_delta a first"]);
    buffer.add(delta("a", "later"), 0);
    expect(textsOf(buffer, 1)).toEqual([]);
    buffer.add(start("b"), 0);
    buffer.add(delta("b", "fresh"), 0);
    expect(textsOf(buffer, 1)).toEqual(["event_start b", "event_delta b fresh"]);
  });

  test("has one message open at a time and starts each once", () => {
    const buffer = open();
    buffer.add(start("a"), 0);
    buffer.add(start("b"), 0);
    buffer.add(delta("a", "lost"), 0);
    buffer.add(start("a"), 0);
    buffer.add(delta("b", "kept"), 0);
    expect(textsOf(buffer, 1)).toEqual(["event_start a", "event_start b", "event_delta b kept"]);
  });

  test("gives nothing of a message that was shown in full", () => {
    const buffer = open();
    buffer.add(start("a"), 5);
    buffer.add(delta("a", "late"), 5);
    buffer.close("a");
    buffer.add(delta("a", "later"), 5);
    buffer.add(start("a"), 5);
    buffer.close("b");
    buffer.add(start("b"), 5);
    expect(textsOf(buffer, 9)).toEqual([]);
  });
});
