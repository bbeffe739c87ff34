import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import type { Checkpoints } from "../core/ports/checkpoints.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { NewSession } from "../core/ports/sessions.ts";
import type { Store } from "../core/ports/store.ts";
import { NO_PRICES } from "../core/pricing/price-list.ts";
import { ManualClock } from "../hands/fake/manual-clock.ts";
import { Secret } from "../lib/secret.ts";
import { MemoryBlobs } from "../store/memory-blobs.ts";
import { openMemoryStore } from "../store/sqlite/memory-store.testsuite.ts";
import { AGENT, addEnvironment, answered, NO_CHECKPOINTS } from "../testing/copies.ts";
import { inProcessCarrier } from "../testing/in-process-trials.ts";
import { brokenLogRules } from "../testing/log-rules.ts";
import { Mortal, mortalCheckpoints, mortalStore } from "../testing/mortal.ts";
import { recordedLogs } from "../testing/recorded-logs.ts";
import { testSession } from "../testing/session.ts";
import { createEnvelopeBox } from "../vault/envelope-box.ts";
import { givenKeys } from "../vault/given-keys.ts";
import { collectBlobs } from "./blob-collector.ts";
import { collectCopies } from "./sessions-copy.ts";
import { exportSession } from "./sessions-export.ts";
import { forkSession } from "./sessions-fork.ts";
import { importSession } from "./sessions-import.ts";
import { createSkillReferences } from "./skill-references.ts";
import { noteStrayBlobs } from "./stray-blobs.ts";

/** Processes die before and after everything they write: what is seen then, and what is left in the end. */

const secretBox = createEnvelopeBox(
  givenKeys([new Secret(randomBytes(32).toString("base64"))], "the test"),
);
const OUTPUT = Buffer.from("an output");
const DAY = 24 * 60 * 60_000;

async function openWorld() {
  const clock = new ManualClock();
  await clock.advance(Date.parse("2026-06-01T00:00:00.000Z"));
  const store = openMemoryStore({ clock, announcements: { publish: () => undefined } });
  const blobs = new MemoryBlobs(() => clock.now());
  const workspaceId = "wrkspc_1";
  await addEnvironment(store, workspaceId);
  return { clock, store, blobs, workspaceId };
}

type World = Awaited<ReturnType<typeof openWorld>>;

/** A session that is long enough to be copied in several steps: the recorded one, many times over. */
async function addSession(
  { store, blobs, workspaceId }: World,
  recorded: "talk." | "two-tools." = "talk.",
): Promise<SessionKey> {
  const [{ log } = { log: [] }] = recordedLogs().filter(({ file }) => file.startsWith(recorded));
  const threadId = log[0]?.thread_id ?? "";
  const sent = log.find(({ type }) => type === "drover.call_started");
  const session: NewSession = {
    ...testSession(),
    ...(sent?.type === "drover.call_started" && { hand_id: sent.private.hand_id }),
    agent: { ...AGENT },
    id: "sesn_source",
    thread_id: threadId,
  };
  const key = { workspaceId, sessionId: session.id };
  const { sha256, size_bytes } = await blobs.put(workspaceId, chunk(OUTPUT));
  await store.write(async (tx) => {
    await tx.copies.begin(session);
    for (let round = 0; round < 24; round += 1) {
      const text = JSON.stringify(log).replaceAll(/"sevt_(\d+)"/g, `"sevt_${round}x$1"`);
      const events = JSON.parse(text) as typeof log;
      await tx.copies.add(
        key,
        events.map((event) => ({ ...event, processed_at: "2026-01-01T00:00:00.000Z" })),
      );
    }
    const checkpoint = { fold: 0, seq: 0, state: "{}" };
    const shown = { updated_at: tx.now, archived_at: null, epoch: 1, checkpoint };
    await tx.copies.finish({ ...session, ...shown });
    await tx.files.insert({
      workspace_id: workspaceId,
      id: "file_output",
      filename: "report.txt",
      mime_type: "text/plain",
      size_bytes,
      sha256,
      created_at: tx.now,
      expires_at: null,
      session_id: session.id,
      downloadable: true,
      output_path: "report.txt",
    });
  });
  return key;
}

async function collected(bytes: AsyncIterable<Uint8Array>): Promise<readonly Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  for await (const one of bytes) chunks.push(one);
  return chunks;
}

async function* chunk(bytes: Uint8Array) {
  yield bytes;
}

const sessionsOf = ({ store, workspaceId }: World) =>
  store.sessions.list(workspaceId, {}, { limit: 100, order: "asc" });

/** Kills at each step in turn, in a world of its own, until nothing is left to be killed. */
async function atEachStep(
  prepare: (world: World) => Promise<(store: Store, mortal: Mortal) => Promise<Response>>,
): Promise<{ readonly steps: number; readonly places: ReadonlySet<string> }> {
  const places = new Set<string>();
  for (let step = 1; ; step += 1) {
    const world = await openWorld();
    const make = await prepare(world);
    const before = (await sessionsOf(world)).length;
    const mortal = new Mortal(step);
    const made = make(mortalStore(world.store, mortal), mortal).then(() => "made" as const);
    const outcome = await Promise.race([made, mortal.died.then(() => "died" as const)]);
    const seen = await sessionsOf(world);
    for (const session of seen.slice(before)) await assertWhole(world, session.id);
    if (seen.length === before) {
      // The client tries again at once, and gets what it asked for.
      const again = (await (await make(world.store, new Mortal(0))).json()) as { id: string };
      await assertWhole(world, again.id);
    }
    expect((await sessionsOf(world)).length, `killed ${mortal.trace.at(-1)}`).toBe(before + 1);
    await assertNothingLeft(world);
    await world.store.close();
    if (outcome === "made") return { steps: step, places };
    places.add(mortal.trace.at(-1) ?? "");
  }
}

async function assertWhole({ store, blobs, workspaceId }: World, sessionId: string): Promise<void> {
  const key = { workspaceId, sessionId };
  const log = await store.events.getEvents(key, { limit: 10_000 });
  expect(log.length).toBeGreaterThan(200);
  const shown = log.at(-1)?.type === "drover.forked" ? log.slice(0, -1) : log;
  expect(brokenLogRules(shown)).toEqual([]);
  const session = await store.sessions.find(key);
  expect(session?.last_seq).toBe(log.length);
  const { checkpoint } = session?.recipe ?? {};
  if (checkpoint === undefined) return;
  expect(await blobs.get(workspaceId, checkpoint.sha256)).toBeDefined();
  expect(await store.write((tx) => tx.files.isReferenced(workspaceId, checkpoint.sha256))).toBe(
    true,
  );
}

/**
 * Once it was left alone for long enough, of what was half made there is neither note nor row nor event, nor
 * content.
 */
async function assertNothingLeft(world: World): Promise<void> {
  const { store, blobs, clock, workspaceId } = world;
  await clock.advance(2 * DAY);
  const stop = new AbortController();
  const collecting = [
    collectCopies(world, stop.signal),
    noteStrayBlobs(world, stop.signal),
    collectBlobs(world, stop.signal),
  ];
  for (let look = 0; look < 3; look += 1) {
    await expect.poll(() => clock.sleepers).toBe(collecting.length);
    await clock.advance(DAY / 48);
  }
  await expect.poll(() => clock.sleepers).toBe(collecting.length);
  stop.abort();
  await Promise.all(collecting);
  for await (const { sha256 } of blobs.list(Number.POSITIVE_INFINITY)) {
    const isReferenced = await store.write((tx) => tx.files.isReferenced(workspaceId, sha256));
    expect(isReferenced, "content that nothing refers to").toBe(true);
  }
  const left = await store.write((tx) => tx.copies.listAbandoned("9999-01-01T00:00:00.000Z", 10));
  expect(left).toEqual([]);
  const taken = await store.write((tx) =>
    tx.files.list(workspaceId, {}, { limit: 100, order: "asc" }),
  );
  const sessions = new Set(
    (await store.sessions.list(workspaceId, {}, { limit: 100, order: "asc" })).map(({ id }) => id),
  );
  expect(taken.every(({ session_id }) => sessions.has(session_id ?? ""))).toBe(true);
}

test("a fork is there whole or not at all, wherever its process dies", async () => {
  const { steps } = await atEachStep(async (world) => {
    const key = await addSession(world);
    return (store) => {
      const options = {
        store,
        secretCarrier: inProcessCarrier(secretBox),
        skillReferences: createSkillReferences([]),
        prices: NO_PRICES,
        checkpoints: NO_CHECKPOINTS,
      };
      return forkSession(options, { key, params: {} }, (effect) => answered(store, effect));
    };
  });
  expect(steps).toBeGreaterThan(10);
});

test("a fork that takes files along has them or is not there, wherever its process dies", async () => {
  const { steps, places } = await atEachStep(async (world) => {
    const { blobs, workspaceId } = world;
    const key = await addSession(world, "two-tools.");
    let taken = 0;
    const checkpoints: Checkpoints = {
      // An archive has times in it: no two are alike.
      take: async () => {
        taken += 1;
        const archive = Buffer.from(`the files, taken ${taken} times`);
        return { type: "taken", checkpoint: await blobs.put(workspaceId, chunk(archive)) };
      },
    };
    return async (store, mortal) => {
      const options = {
        store,
        secretCarrier: inProcessCarrier(secretBox),
        skillReferences: createSkillReferences([]),
        prices: NO_PRICES,
        checkpoints: mortalCheckpoints(checkpoints, mortal),
      };
      const forked = await forkSession(options, { key, params: {} }, (effect) =>
        answered(store, effect),
      );
      const { id } = (await forked.clone().json()) as { id: string };
      const fork = await world.store.sessions.find({ workspaceId, sessionId: id });
      expect(fork?.recipe.checkpoint).toBeDefined();
      return forked;
    };
  });
  expect(steps).toBeGreaterThan(10);
  expect([...places]).toEqual(
    expect.arrayContaining([
      "before checkpoint",
      "after checkpoint",
      "before write",
      "after write",
    ]),
  );
});

test("an import is there whole or not at all, and can be tried again at once", async () => {
  const source = await openWorld();
  const { bytes } = await exportSession(source, await addSession(source));
  const file = await collected(bytes);
  const { steps } = await atEachStep(async ({ workspaceId, blobs, clock }) => (store) => {
    async function* content() {
      yield* file;
    }
    const options = { store, blobs, clock, prices: NO_PRICES };
    const request = { workspaceId, query: {}, content: content() };
    return importSession(options, request, (effect) => answered(store, effect));
  });
  expect(steps).toBeGreaterThan(12);
});

test("a second import of the same file takes the place of one that is under way", async () => {
  const [source, world] = [await openWorld(), await openWorld()];
  const { bytes } = await exportSession(source, await addSession(source));
  const file = await collected(bytes);
  const waits = Promise.withResolvers<void>();
  const halfway = Promise.withResolvers<void>();
  async function* slow() {
    yield* file.slice(0, 120);
    halfway.resolve();
    await waits.promise;
    yield* file.slice(120);
  }
  async function* quick() {
    yield* file;
  }
  const { store, blobs, clock, workspaceId } = world;
  const put = (content: AsyncIterable<Uint8Array>) =>
    importSession(
      { store, blobs, clock, prices: NO_PRICES },
      { workspaceId, query: {}, content },
      (effect) => answered(store, effect),
    );
  const first = put(slow());
  const refused = expect(first).rejects.toThrow("another request took its place");
  await halfway.promise;
  expect((await put(quick())).status).toBe(200);
  waits.resolve();
  await refused;
  await assertWhole(world, "sesn_source");
});
