import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Budget, ClientEventParams } from "@drover/api";
import {
  answer,
  type Script,
  startMessagesApi,
  text,
  thinking,
  toolCall,
  toolResultsOf,
} from "@drover/testing";
import { sendEvents } from "../app/events.ts";
import { DEFAULT_POLICIES, type Policies } from "../core/harness/policies.ts";
import type { Blobs } from "../core/ports/blobs.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { EventWriter, SessionKey } from "../core/ports/event-log.ts";
import type { OfferedModel } from "../core/ports/model.ts";
import type { SessionAgentSnapshot } from "../core/ports/sessions.ts";
import type { Store } from "../core/ports/store.ts";
import { NO_PRICES, type PriceList } from "../core/pricing/price-list.ts";
import { budgetSet } from "../core/session/budget.ts";
import type { LogEvent } from "../core/session/log-event.ts";
import { agentTools } from "../core/tools/agent-tools.ts";
import { MemoryHands, type MemoryMcpServer, type MemoryTool } from "../hands/fake/memory-hands.ts";
import { Secret } from "../lib/secret.ts";
import { Wakeup } from "../lib/wakeup.ts";
import { AnthropicModel } from "../model/anthropic.ts";
import type { DriveDeps } from "../run/deps.ts";
import { drive } from "../run/drive.ts";
import { LocalAnnouncements } from "../store/local-announcements.ts";
import { MemoryBlobs } from "../store/memory-blobs.ts";
import { openSqliteStore, type SqliteStoreOptions } from "../store/sqlite/sqlite-store.ts";
import { impatientClock } from "./impatient-clock.ts";
import { testTool } from "./logs.ts";
import {
  Mortal,
  mortalAnnouncements,
  mortalHands,
  mortalMcpServers,
  mortalModel,
  mortalStore,
} from "./mortal.ts";
import { testSession } from "./session.ts";

const TOOLS = ["bash", "read", "write"];

/**
 * Everything a brain works with, in one process: a real store on a file, the strict model double over
 * HTTP, hands in memory. Drivers come and go; what is here stays.
 */
export interface BrainWorld extends AsyncDisposable {
  readonly store: Store;
  readonly blobs: Blobs;
  readonly hands: MemoryHands;
  readonly api: Awaited<ReturnType<typeof startMessagesApi>>;
  readonly announcements: LocalAnnouncements;
  readonly clock: Clock;
  readonly deps: DriveDeps;
  newSession(budget?: Budget): Promise<SessionKey>;
  /** A session whose log begins with these events. */
  sessionWith(log: readonly LogEvent[]): Promise<SessionKey>;
  send(key: SessionKey, ...events: readonly ("interrupt" | string)[]): Promise<void>;
  /** Posts events as a client does, with the API's own checks; rejects with its refusal. */
  post(key: SessionKey, ...events: readonly ClientEventParams[]): Promise<void>;
  log(key: SessionKey): Promise<readonly LogEvent[]>;
  /** Resolves once the log is as wanted; looks again whenever something is committed. */
  until(key: SessionKey, isReached: (log: readonly LogEvent[]) => boolean): Promise<void>;
  /** Resolves once the session waits for its user. */
  idle(key: SessionKey): Promise<void>;
  /** Claims what is due and drives it, dying at the given step; 0 for never. */
  run(killAt?: number, deps?: DriveDeps): Promise<Mortal>;
}

export async function createBrainWorld(options: {
  readonly script: Script;
  readonly tools: Readonly<Record<string, MemoryTool>>;
  /** One that jumps to whatever is waited for, unless given. */
  readonly clock?: Clock;
  /** Names of the tools that are offered, as `testTool` takes them; three ordinary ones unless given. */
  readonly offered?: readonly string[];
  /** What new sessions' agents have of MCP servers, and what those say that they have. */
  readonly mcp?: {
    readonly agent: McpParts;
    readonly serve: MemoryMcpServer;
  };
  /** Nothing has a price, unless given. */
  readonly prices?: PriceList;
  /** The default ones, unless given. */
  readonly policies?: Policies;
  /** One on a file, which is deleted at the end, unless given. */
  readonly openStore?: (options: Pick<SqliteStoreOptions, "clock" | "announcements">) => Store;
  /** Tokens of the model's window, at the double and, unless `isWindowKnown` is false, here. */
  readonly window?: number;
  readonly isWindowKnown?: boolean;
  /** How many requests the double keeps to be looked at; many, unless given. */
  readonly keep?: number;
  /** Told of what is logged as an error. */
  readonly onError?: (message: string) => void;
  /** Ids count from here, so that they do not meet those of a log that was recorded. */
  readonly firstId?: number;
}): Promise<BrainWorld> {
  const folder = mkdtempSync(join(tmpdir(), "drover-brain-"));
  const clock = options.clock ?? impatientClock();
  const announcements = new LocalAnnouncements(() => undefined);
  const openStore =
    options.openStore ?? ((rest) => openSqliteStore({ dataFolder: folder, ...rest }));
  const store = openStore({ clock, announcements });
  const { window, isWindowKnown = true } = options;
  const api = await startMessagesApi({
    script: options.script,
    ...(window !== undefined && { contextTokens: window }),
    ...(options.keep !== undefined && { keep: options.keep }),
  });
  const { tools, mcp } = options;
  const hands = new MemoryHands({ tools, ...(mcp !== undefined && { mcp: mcp.serve }) });
  let ids = options.firstId ?? 0;
  const blobs = new MemoryBlobs();
  const deps: DriveDeps = {
    store,
    blobs,
    hands,
    memoryCopies: hands,
    grantOf: () => undefined,
    mcpServers: hands,
    model: new AnthropicModel({ baseUrl: api.url, apiKey: new Secret(api.apiKey) }),
    announcements,
    clock,
    prices: options.prices ?? NO_PRICES,
    policies: options.policies ?? DEFAULT_POLICIES,
    findModel: () => (window !== undefined && isWindowKnown ? modelWithWindow(window) : undefined),
    toolsOf: ({ agent }, listing) => [
      ...(options.offered ?? TOOLS).flatMap((name) => testTool(name) ?? []),
      ...agentTools({ ...agent, tools: mcp?.agent.tools ?? [] }, listing),
    ],
    random: () => 0,
    newId: (prefix) => {
      ids += 1;
      return `${prefix}_${ids}`;
    },
    failPoint: () => undefined,
    log: { info: () => undefined, error: (_fields, message) => options.onError?.(message) },
  };
  const world = { store, blobs, hands, api, announcements, clock, deps };
  const newOne = (given: NewGiven) => newSession(world, { ...given, agent: mcp?.agent });
  return {
    ...world,
    newSession: (budget) => newOne({ budget: budget ?? null }),
    sessionWith: (log) => sessionWith(world, log),
    send: (key, ...events) => send(world, key, events),
    post: async (key, ...events) => {
      await store.write((tx) =>
        sendEvents(tx, key, { events, isWatched: false, findModel: deps.findModel }),
      );
    },
    log: (key) => store.events.getEvents(key, { limit: 10_000 }),
    until: (key, isReached) => until(world, key, isReached),
    idle: (key) => until(world, key, (log) => log.at(-1)?.type === "session.status_idle"),
    run: (killAt = 0, mine = deps) => run(mine, killAt),
    [Symbol.asyncDispose]: async () => {
      await api.close();
      await store.close();
      rmSync(folder, { recursive: true });
      // Also where the harness recovered: a context that a real API would refuse is a bug.
      if (api.refusals.length > 0) throw new Error(JSON.stringify(api.refusals));
    },
  };
}

function modelWithWindow(max_input_tokens: number): OfferedModel {
  return {
    aliases: [],
    hasFastMode: false,
    info: {
      id: "claude-opus-5-5",
      type: "model",
      display_name: "Double",
      created_at: "2026-01-01T00:00:00Z",
      line: null,
      lifecycle: "active",
      deprecated_at: null,
      retires_at: null,
      max_input_tokens,
      max_tokens: null,
      allowed_fallback_models: null,
      capabilities: null,
    },
  };
}

async function until(
  { store, announcements }: Pick<BrainWorld, "store" | "announcements">,
  { workspaceId, sessionId }: SessionKey,
  isReached: (log: readonly LogEvent[]) => boolean,
): Promise<void> {
  const doorbell = new Wakeup();
  const unsubscribe = announcements.subscribe(sessionId, () => doorbell.notify());
  try {
    for (;;) {
      const log = await store.events.getEvents({ workspaceId, sessionId }, { limit: 10_000 });
      if (isReached(log)) return;
      await doorbell.wait();
    }
  } finally {
    unsubscribe();
  }
}

type NewInput = Parameters<EventWriter["accept"]>[1][number];
type World = Pick<BrainWorld, "store" | "deps">;

async function sessionWith(world: World, log: readonly LogEvent[]): Promise<SessionKey> {
  const threadId = log[0]?.thread_id ?? "sthr_0";
  // Event ids are unique within a workspace, and a log may be begun with more than once.
  const workspaceId = world.deps.newId("wrkspc");
  const key = await newSession(world, { threadId, workspaceId });
  await world.store.write(async (tx) => {
    await tx.queue.wake(key);
    const [claim] = await tx.queue.claim({ holder: "recorded", leaseMs: null, limit: 1 });
    if (claim === undefined) throw new Error("the new session cannot be claimed");
    const drafts = log.map(
      ({ seq: _seq, v: _v, processed_at: _at, epoch: _epoch, ...rest }) => rest,
    );
    await tx.events.append({ ...key, epoch: claim.epoch, drafts });
    const lease = { ...key, epoch: claim.epoch, seenSeq: log.length, wakeAt: tx.now };
    await tx.queue.release(lease);
  });
  return key;
}

type McpParts = Pick<SessionAgentSnapshot, "tools" | "mcp_servers">;

interface NewGiven {
  readonly threadId?: string;
  readonly workspaceId?: string;
  readonly budget?: Budget | null;
}

async function newSession(
  { store, deps }: World,
  given: NewGiven & { agent?: McpParts | undefined },
): Promise<SessionKey> {
  const session = testSession({ system: "Be brief." });
  const { threadId = deps.newId("sthr"), workspaceId = "wrkspc_1", budget = null } = given;
  const key = { workspaceId, sessionId: deps.newId("sesn") };
  await store.write(async (tx) => {
    await tx.sessions.insert({
      ...session,
      agent: { ...session.agent, ...given.agent },
      workspace_id: workspaceId,
      id: key.sessionId,
      thread_id: threadId,
      hand_id: deps.newId("hand"),
      budget,
      created_at: tx.now,
    });
    if (budget === null) return;
    await tx.events.appendReceipts(key, [budgetSet(deps.newId("sevt"), threadId, budget)]);
  });
  return key;
}

async function send(
  { store, deps }: World,
  key: SessionKey,
  events: readonly ("interrupt" | string)[],
): Promise<void> {
  await store.write(async (tx) => {
    const session = await tx.sessions.find(key);
    if (session === undefined) throw new Error(`no session ${key.sessionId}`);
    const drafts = events.map((event): NewInput => {
      const id = deps.newId("sevt");
      const base = { id, thread_id: session.thread_id, cross_posted: false, private: {} };
      if (event === "interrupt") return { ...base, type: "user.interrupt", public: {} };
      const content = [{ type: "text" as const, text: event }];
      return { ...base, type: "user.message", public: { content } };
    });
    await tx.events.accept(key, drafts);
  });
}

/** One process: takes every lease over, claims once and drives, until it is done or dies. */
async function run(deps: DriveDeps, killAt: number): Promise<Mortal> {
  const mortal = new Mortal(killAt);
  const mine: DriveDeps = {
    ...deps,
    store: mortalStore(deps.store, mortal),
    hands: mortalHands(deps.hands, mortal),
    mcpServers: mortalMcpServers(deps.mcpServers, mortal),
    model: mortalModel(deps.model, mortal),
    announcements: mortalAnnouncements(deps.announcements, mortal),
  };
  const holder = deps.newId("holder");
  await deps.store.write((tx) => tx.queue.takeOver(holder));
  const driving = (async () => {
    const claim = { holder, leaseMs: null, limit: 10 };
    const claims = await mine.store.write((tx) => tx.queue.claim(claim));
    await Promise.all(claims.map((one) => drive(one, mine, new AbortController().signal)));
  })();
  await Promise.race([driving, mortal.died]);
  return mortal;
}

/** The first turn of the scenario: thinking, text and two parallel calls; then the answer. */
export const TWO_TOOLS: Script = (request) => {
  if (toolResultsOf(request).size > 0) return answer(text("Both are done."));
  return answer(
    thinking("Two things are to be done."),
    text("I do both."),
    toolCall("read", { file_path: "a" }),
    toolCall("write", { file_path: "b", content: "b" }),
  );
};
