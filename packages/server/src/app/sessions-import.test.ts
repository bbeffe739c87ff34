import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { PlatformError } from "../core/errors.ts";
import { contextMessages } from "../core/harness/context.ts";
import { nextActions } from "../core/harness/next-actions.ts";
import { DEFAULT_POLICIES } from "../core/harness/policies.ts";
import { NO_PRICES } from "../core/pricing/price-list.ts";
import { fold } from "../core/session/fold.ts";
import { toWire } from "../core/session/wire.ts";
import { FILE_VERSION } from "../core/sessions/session-file.ts";
import { systemClock } from "../lib/system-clock.ts";
import { MemoryBlobs } from "../store/memory-blobs.ts";
import { openMemoryStore } from "../store/sqlite/memory-store.testsuite.ts";
import { AGENT, addEnvironment, answered } from "../testing/copies.ts";
import { recordedLogs } from "../testing/recorded-logs.ts";
import { importSession } from "./sessions-import.ts";

const TIME = "2026-01-01T00:00:00.000Z";

const SESSION = {
  id: "sesn_1",
  thread_id: "sthr_1",
  status: "idle",
  title: null,
  metadata: {},
  environment_id: "env_1",
  agent: AGENT,
  resources: [],
  vault_ids: [],
  mounts: [],
  totals: { usage: {}, stats: {} },
  created_at: TIME,
  updated_at: TIME,
  archived_at: null,
};

/** What somebody might put anywhere. */
const NASTY = fc.oneof(
  fc.constantFrom<unknown>(null, true, -1, 1.5, 1e308, "", "\u0000", "\ud800", "x".repeat(300)),
  fc.constantFrom<unknown>(
    [],
    {},
    [[]],
    [null],
    { type: "text" },
    { __proto__: null },
    "sevt_1",
    "sesn_1",
  ),
  fc.constantFrom<unknown>("9".repeat(50), "-1", "1e9", "2999-01-01T00:00:00.000Z", "constructor"),
  fc.jsonValue({ maxDepth: 2 }),
);

/** Another value somewhere in the given one, a field more or a field less. */
function changed(value: unknown, steps: readonly number[], nasty: unknown): unknown {
  const [step, ...rest] = steps;
  if (step === undefined || typeof value !== "object" || value === null) return nasty;
  const entries = Object.entries(value);
  const index = step % (entries.length + 1);
  const entry = entries[index];
  if (entry === undefined)
    return Array.isArray(value) ? [...value, nasty] : { ...value, more: nasty };
  const [key, inner] = entry;
  if (step % 7 === 6) entries.splice(index, 1);
  else entries[index] = [key, changed(inner, rest, nasty)];
  return Array.isArray(value) ? entries.map(([, item]) => item) : Object.fromEntries(entries);
}

function fileOf(lines: readonly object[]): Buffer {
  const body = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  const events = lines.filter((line) => "event" in line).length;
  const sha256 = createHash("sha256").update(body).digest("hex");
  return Buffer.from(`${body}${JSON.stringify({ end: { events, files: 0, sha256 } })}\n`);
}

async function openWorld() {
  const store = openMemoryStore({
    clock: systemClock,
    announcements: { publish: () => undefined },
  });
  await addEnvironment(store, "wrkspc_1");
  const put = async (file: Uint8Array) => {
    async function* content() {
      yield file;
    }
    const options = { store, blobs: new MemoryBlobs(), clock: systemClock, prices: NO_PRICES };
    const query = { workspace: "empty", new_ids: true } as const;
    const request = { workspaceId: "wrkspc_1", query, content: content() };
    const answer = await importSession(options, request, (effect) => answered(store, effect));
    return ((await answer.json()) as { id: string }).id;
  };
  return { store, put };
}

const HEAD = { drover: "session", version: FILE_VERSION, left_out: [] };

test("whatever is changed in a file, it is refused as its sender's, or makes a session that works", async () => {
  const { store, put } = await openWorld();
  const logs = recordedLogs().map(({ log }) => [
    HEAD,
    { session: SESSION },
    ...log.map(({ seq: _seq, ...event }) => ({ event })),
  ]);
  const outcomes = { refused: 0, taken: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...logs),
      fc.nat(),
      fc.array(fc.nat(), { minLength: 1, maxLength: 7 }),
      NASTY,
      async (lines, at, steps, nasty) => {
        const copy: object[] = [...lines];
        const index = at % copy.length;
        copy[index] = changed(copy[index], [0, ...steps], nasty) as object;
        let id: string;
        try {
          id = await put(fileOf(copy));
        } catch (error) {
          if (!(error instanceof PlatformError)) throw error;
          outcomes.refused += 1;
          return;
        }
        outcomes.taken += 1;
        const key = { workspaceId: "wrkspc_1", sessionId: id };
        const session = await store.sessions.find(key);
        const log = await store.events.getEvents(key, { limit: 1_000 });
        JSON.stringify(log.map(toWire));
        const state = fold(log);
        expect(nextActions(state, session?.thread_id ?? "", [], DEFAULT_POLICIES)).toEqual([]);
        JSON.stringify(contextMessages(log));
      },
    ),
    { numRuns: 600 },
  );
  expect(outcomes.refused).toBeGreaterThan(50);
  expect(outcomes.taken).toBeGreaterThan(10);
  const left = await store.write((tx) => tx.copies.listAbandoned("9999-01-01T00:00:00.000Z", 10));
  expect(left).toEqual([]);
}, 60_000);

test("a compaction keeps nothing that comes behind it: then new messages would not be sent", async () => {
  const { put } = await openWorld();
  const log = recordedLogs().find(({ file }) => file.startsWith("compacted"))?.log ?? [];
  const withKept = (later: number) => {
    const lines = log.map(({ seq, ...event }) =>
      event.type === "agent.thread_context_compacted"
        ? { event: { ...event, private: { ...event.private, kept_from: seq + later } } }
        : { event },
    );
    return put(fileOf([HEAD, { session: SESSION }, ...lines]));
  };
  await expect(withKept(1)).rejects.toThrow(/kept_from: is behind the event, whose place is \d+/);
  expect(await withKept(0)).toMatch(/^sesn_/);
});
