import { join } from "node:path";
import type { SessionKey } from "../../../packages/server/src/core/ports/event-log.ts";
import type { Claim, NewSession } from "../../../packages/server/src/core/ports/sessions.ts";
import type { Store } from "../../../packages/server/src/core/ports/store.ts";
import type { EventDraft } from "../../../packages/server/src/core/session/log-event.ts";
import { newId } from "../../../packages/server/src/lib/new-id.ts";
import { openWriter } from "../../../packages/server/src/store/sqlite/sqlite-file.ts";
import { nowMs } from "../lib/clock.ts";
import { claimAll, openStore } from "../lib/log-store.ts";
import { atLeast, distribution, rates, type Section } from "../lib/measurement.ts";
import { samplePairs } from "../lib/sampling.ts";
import type { World } from "../lib/world.ts";

const SESSIONS = 64;
/** Appends of each session in one sample: enough for some 20 ms. */
const ROUNDS = 10;
const TEXT = "x".repeat(900);
const WORKSPACE = "wrkspc_default";

/** Durable appends per second through the store, against the same statements without it. */
export async function measureAppends(world: World): Promise<Section> {
  await using drover = await openDrover(world.newDataFolder("appends"));
  using raw = await openRaw(world.newDataFolder("appends-raw"));
  const pairs = await samplePairs(
    world.plan.appends,
    () => perSecond(() => drover.append()),
    () => perSecond(async () => raw.append()),
  );
  const grouping = drover.grouping().toFixed(1);
  const alone = await samplePairs(
    world.plan.appends,
    () => millis(() => drover.appendOne()),
    () => millis(async () => raw.appendOne()),
  );
  return {
    title: "Durable appends",
    measurements: [
      rates(
        { name: "appends a second, Drover ÷ raw", unit: "×", goals: [atLeast("p50", 0.5)] },
        pairs.map(({ a, b }) => a / b),
      ),
      rates(
        { name: "· Drover's store", unit: "1/s" },
        pairs.map(({ a }) => a),
      ),
      rates(
        { name: "· raw better-sqlite3", unit: "1/s" },
        pairs.map(({ b }) => b),
      ),
      distribution(
        { name: "· one append alone: Drover's store", unit: "ms" },
        alone.map(({ a }) => a),
      ),
      distribution(
        { name: "· one append alone: raw, one sync of this disk", unit: "ms" },
        alone.map(({ b }) => b),
      ),
    ],
    notes: [
      `Each append is one event of 1 KB, fenced and synced to disk before it resolves; ${SESSIONS} sessions append without pause. On average ${grouping} appends shared a commit. Raw: the same two statements (update of the session, insert of the event), ${SESSIONS} in a transaction, with the same schema and settings of the file and the JSON made in advance. p95 and p99 are what 95 % and 99 % of the samples reach.`,
      "Through the store's port in the benchmark's own process, from the sources: the same code as in the bundle, without HTTP.",
    ],
  };
}

async function perSecond(append: () => Promise<void>): Promise<number> {
  return (SESSIONS * ROUNDS * 1000) / (await millis(append));
}

async function millis(work: () => Promise<void>): Promise<number> {
  const startMs = nowMs();
  await work();
  return nowMs() - startMs;
}

interface Drover extends AsyncDisposable {
  /** `ROUNDS` of every session, all sessions at once. */
  append(): Promise<void>;
  appendOne(): Promise<void>;
  /** Appends in a commit, on average. */
  grouping(): number;
}

async function openDrover(data: string): Promise<Drover> {
  let appends = 0;
  let commits = 0;
  let isCommitted = true;
  const store = openStore(data, () => {
    isCommitted = true;
  });
  const claims = await claimSessions(store);
  const [first] = claims;
  if (first === undefined || claims.length !== SESSIONS) {
    throw new Error(`${claims.length} sessions were claimed`);
  }
  const appendTo = async ({ workspaceId, sessionId, epoch }: Claim) => {
    await store.write(async (tx) => {
      if (isCommitted) commits += 1;
      isCommitted = false;
      appends += 1;
      await tx.events.append({ workspaceId, sessionId, epoch, drafts: [message()] });
    });
  };
  return {
    append: async () => {
      await Promise.all(
        claims.map(async (claim) => {
          for (let round = 0; round < ROUNDS; round += 1) await appendTo(claim);
        }),
      );
    },
    appendOne: () => appendTo(first),
    grouping: () => appends / commits,
    [Symbol.asyncDispose]: () => store.close(),
  };
}

interface Raw extends Disposable {
  append(): void;
  appendOne(): void;
}

async function openRaw(data: string): Promise<Raw> {
  // Made by the product, for its schema, its settings of the file and the rows of the sessions.
  const store = openStore(data);
  const claims = await claimSessions(store);
  await store.close();
  const database = openWriter(join(data, "drover.db"), []);
  const now = () => new Date().toISOString();
  const take = database.prepare(
    `update sessions set last_seq = last_seq + 1, last_processed_at = ?, claims = 0
    where workspace_id = ? and id = ? and epoch = ? and lease_holder is not null
    returning session_key, last_seq`,
  );
  const insert = database.prepare(
    `insert into events (session_key, seq, workspace_id, id, thread_id, cross_posted, type, v,
      processed_at, epoch, size, large, public, private)
    values (?, ?, ?, ?, 'sthr_1', 0, 'user.message', 1, ?, 1, ?, null, ?, null)`,
  );
  const body = JSON.stringify(message().public);
  const append = database.transaction((group: readonly Claim[]) => {
    const at = now();
    for (const { workspaceId, sessionId, epoch } of group) {
      const { session_key, last_seq } = take.get(at, workspaceId, sessionId, epoch) as Place;
      const id = newId("sevt");
      insert.run(session_key, last_seq, workspaceId, id, at, body.length, body);
    }
  });
  return {
    append: () => {
      for (let round = 0; round < ROUNDS; round += 1) append.immediate(claims);
    },
    appendOne: () => append.immediate(claims.slice(0, 1)),
    [Symbol.dispose]: () => {
      database.close();
    },
  };
}

interface Place {
  readonly session_key: number;
  readonly last_seq: number;
}

function message(): EventDraft {
  return {
    id: newId("sevt"),
    type: "user.message",
    thread_id: "sthr_1",
    cross_posted: false,
    public: { content: [{ type: "text", text: TEXT }] },
    private: {},
  };
}

/** 64 new sessions, held as drivers hold them. */
async function claimSessions(store: Store): Promise<readonly Claim[]> {
  const keys = Array.from({ length: SESSIONS }, () => newKey());
  await store.write(async (tx) => {
    for (const key of keys) await tx.sessions.insert(newSession(key));
  });
  return await claimAll(store, keys);
}

function newKey(): SessionKey {
  return { workspaceId: WORKSPACE, sessionId: newId("sesn") };
}

function newSession({ workspaceId, sessionId }: SessionKey): NewSession {
  return {
    workspace_id: workspaceId,
    id: sessionId,
    thread_id: "sthr_1",
    hand_id: newId("hand"),
    status: "idle",
    title: null,
    metadata: {},
    environment_id: "env_1",
    agent: {
      id: "agent_1",
      name: "benchmark",
      version: 1,
      system: null,
      model: { id: "none" },
      tools: [],
    },
    resources: [],
    vault_ids: [],
    budget: null,
    recipe: {
      provider: "bubblewrap",
      base: { type: "host" },
      mounts: [],
      network: { type: "none" },
    },
    totals: { usage: {}, stats: {} },
    created_at: new Date().toISOString(),
  };
}
