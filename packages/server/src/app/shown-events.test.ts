import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Preview } from "../core/ports/announcements.ts";
import type { LogEvent } from "../core/session/log-event.ts";
import { toWire } from "../core/session/wire.ts";
import { openHarness, openWorld } from "../http/world.testsuite.ts";
import { misshapen } from "../testing/event-shapes.ts";
import { openStream } from "./streams.ts";
import { StreamReaders } from "./streams-readers.ts";
import { SharedReads } from "./streams-reads.ts";

/** The server does not check what it shows against the schemas while it runs: these tests do. */

const FOLDER = join(import.meta.dirname, "../../../../test/fixtures/logs");

test("a field too many, one too few and a wrong one are all seen", () => {
  const event = { type: "agent.thinking", id: "sevt_1", processed_at: "2026-01-01T00:00:00.000Z" };
  expect(misshapen([event])).toEqual([]);
  const { processed_at: _, ...timeless } = event;
  const wrong = [{ ...event, more: 1 }, timeless, { ...event, id: 1 }, { ...event, type: "other" }];
  expect(misshapen(wrong)).toHaveLength(4);
});

test.each(readdirSync(FOLDER))("%s is shown as the contract has it", (file) => {
  const lines = readFileSync(join(FOLDER, file), "utf8").trim().split("\n");
  const log = lines.map((line) => JSON.parse(line) as LogEvent);
  const shown = log.filter(({ type }) => !type.startsWith("drover.")).map(toWire);
  expect(shown.length).toBeGreaterThan(10);
  expect(misshapen(shown)).toEqual([]);
});

/** A session with a stream that is open, and what the stream has said so far. */
async function openWatched() {
  const world = await openWorld({ networkSetting: "none" });
  const vault = await world.request("POST", "/v1/vaults", { display_name: "keys" });
  // The session cannot reach its host, and says so.
  await world.request("POST", `/v1/vaults/${vault.body.id}/credentials`, {
    auth: {
      type: "environment_variable",
      secret_name: "KEY",
      secret_value: "canary",
      networking: { type: "limited", allowed_hosts: ["api.example.com"] },
    },
  });
  const { body } = await world.request("POST", "/v1/sessions", {
    ...(await world.prepare()),
    vault_ids: [vault.body.id],
  });
  const key = { workspaceId: world.workspaceId, sessionId: body.id };
  const { store, announcements } = world;
  const reads = new SharedReads(store.events);
  const { feed } = await openStream(
    { store, announcements, reads, readers: new StreamReaders() },
    { key, previews: new Set(["agent.message"] as const) },
    () => undefined,
  );
  const streamed: { readonly type: string }[] = [];
  const pull = async () => {
    const { frames } = await feed.pull();
    streamed.push(...frames.map(({ data }) => JSON.parse(data)));
    if (frames.length > 0) await pull();
  };
  const preview = (threadId: string, part: Preview) =>
    announcements.publish({ ...key, type: "preview", threadId, preview: part });
  return { world, path: `/v1/sessions/${body.id}`, sessionId: body.id, streamed, pull, preview };
}

const CHANGES = [
  { title: "new", metadata: { a: "b" } },
  { title: null, metadata: { a: null } },
  { agent: { tools: [{ type: "agent_toolset_20260401" }] } },
];
const CONTENT = [
  { type: "text", text: "hello" },
  {
    type: "document",
    source: { type: "text", media_type: "text/plain", data: "notes" },
    title: null,
  },
  { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
];

test("echoes, lists and streams show a session's life as the contract has it", async () => {
  const { world, path, sessionId, streamed, pull, preview } = await openWatched();
  for (const change of CHANGES) {
    expect(await world.request("POST", path, change)).toMatchObject({ status: 200 });
  }
  const events = [
    { type: "user.message", content: CONTENT },
    { type: "user.interrupt" },
    { type: "user.interrupt", session_thread_id: null },
  ];
  const sent = await world.request("POST", `${path}/events`, { events });
  const waiting = await world.request("GET", `${path}/events`);
  const harness = await openHarness(world, sessionId);
  const text = { type: "text", text: "h" } as const;
  const delta = { type: "content_delta", index: 0, content: text } as const;
  const event = { type: "agent.message", id: "sevt_1" };
  preview(harness.threadId, { type: "event_start", event });
  preview(harness.threadId, { type: "event_delta", event_id: event.id, delta });
  await pull();
  await harness.turn("hi", event.id);
  await harness.release();
  const listed = await world.request("GET", `${path}/events`);
  await world.request("DELETE", path);
  await pull();

  const shown = [...sent.body.data, ...waiting.body.data, ...listed.body.data, ...streamed];
  expect(misshapen(shown)).toEqual([]);
  const types = [...new Set(shown.map(({ type }) => type))].sort();
  expect(types).toEqual([
    "agent.message",
    "event_delta",
    "event_start",
    "session.deleted",
    "session.error",
    "session.status_idle",
    "session.status_running",
    "session.thread_status_idle",
    "session.thread_status_running",
    "session.updated",
    "user.interrupt",
    "user.message",
  ]);
});
