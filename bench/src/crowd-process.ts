/**
 * Thousands of sessions whose model is answering, driven by the product's own scheduler on its own store, in
 * this process alone: the model is a function, the hands are in memory, there is no HTTP. Measures itself
 * and tells its parent.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setImmediate as nextTurn } from "node:timers/promises";
import { DEFAULT_POLICIES } from "../../packages/server/src/core/harness/policies.ts";
import type { Model, ModelOutcome } from "../../packages/server/src/core/ports/model.ts";
import type { Store } from "../../packages/server/src/core/ports/store.ts";
import { NO_PRICES } from "../../packages/server/src/core/pricing/price-list.ts";
import { MemoryHands } from "../../packages/server/src/hands/fake/memory-hands.ts";
import { newId } from "../../packages/server/src/lib/new-id.ts";
import { systemClock } from "../../packages/server/src/lib/system-clock.ts";
import type { DriveDeps } from "../../packages/server/src/run/deps.ts";
import { Scheduler } from "../../packages/server/src/run/scheduler.ts";
import { LocalAnnouncements } from "../../packages/server/src/store/local-announcements.ts";
import { MemoryBlobs } from "../../packages/server/src/store/memory-blobs.ts";
import { openSqliteStore } from "../../packages/server/src/store/sqlite/sqlite-store.ts";
import { testSession } from "../../packages/server/src/testing/session.ts";
import { nowMs } from "./lib/clock.ts";
import type { Crowd, CrowdRequest } from "./lib/crowd.ts";

/** How often the model says a word, which is a preview that nobody reads. */
const WORD_MS = 1_000;
const AT_ONCE = 500;
const SAID: ModelOutcome = {
  type: "response",
  blocks: [{ type: "text", text: "Done." }],
  stop_reason: "end_turn",
  usage: { input_tokens: 100, output_tokens: 100 },
  request_id: undefined,
};

process.once("disconnect", () => process.exit(0));
process.once("message", (request: CrowdRequest) => {
  void measure(request).then((crowd) => process.send?.(crowd));
});

async function measure({ folder, sessions, answerMs }: CrowdRequest): Promise<Crowd> {
  const gathering = new Gathering(folder, sessions);
  const { model, delay } = gathering;
  await gathering.open();
  // So that code is compiled, and what is measured is data.
  await gathering.say("warm");
  await gathering.untilIdle();
  model.answerMs = answerMs;
  model.asked = 0;
  gathering.idle = 0;
  const before = await stock();
  delay.reset();
  const startMs = nowMs();
  await gathering.say("go");
  await until(() => model.asked === sessions);
  const allAskedMs = nowMs() - startMs;
  const asking = gathering.takeDelayMs();
  await until(() => nowMs() - startMs > (allAskedMs + answerMs) / 2);
  const answering = gathering.takeDelayMs();
  const inside = await stock();
  const wereInside = gathering.idle === 0;
  // The collection was ours.
  delay.reset();
  await gathering.untilIdle();
  const allAnsweredMs = nowMs() - startMs;
  const ending = gathering.takeDelayMs();
  await gathering.close();
  return {
    sessions,
    wereInside,
    heapBytes: (inside.inUse - before.inUse) / sessions,
    residentBytes: (inside.resident - before.resident) / sessions,
    allAskedMs,
    allAnsweredMs,
    delayMs: { asking, answering, ending },
  };
}

/** Sessions, and what drives them. */
class Gathering {
  readonly model = new SlowModel();
  readonly delay = monitorEventLoopDelay({ resolution: 1 });
  /** Drives that have ended. */
  idle = 0;
  readonly #count: number;
  readonly #store: Store;
  readonly #scheduler: Scheduler;

  constructor(folder: string, count: number) {
    this.#count = count;
    const announcements = new LocalAnnouncements(() => undefined);
    this.#store = openSqliteStore({ dataFolder: folder, clock: systemClock, announcements });
    const hands = new MemoryHands({ tools: {} });
    const deps: DriveDeps = {
      store: this.#store,
      model: this.model,
      announcements,
      hands,
      memoryCopies: hands,
      grantOf: () => undefined,
      mcpServers: hands,
      blobs: new MemoryBlobs(),
      findModel: () => undefined,
      clock: systemClock,
      prices: NO_PRICES,
      policies: DEFAULT_POLICIES,
      toolsOf: () => [],
      random: Math.random,
      newId,
      failPoint: () => undefined,
      log: {
        info: () => {
          this.idle += 1;
        },
        error: (fields, message) => {
          throw new Error(`${message}: ${JSON.stringify(fields)}`);
        },
      },
    };
    this.#scheduler = new Scheduler(deps, {
      holder: "crowd",
      leaseMs: null,
      ownsStore: () => true,
      sessionsMax: count,
      failureDelayMs: 1_000,
    });
  }

  async open(): Promise<void> {
    await inTurns(this.#count, async (index) => {
      const { sessionId, threadId } = named(index);
      const row = { id: sessionId, thread_id: threadId, hand_id: `hand_${index}` };
      await this.#store.write((tx) =>
        tx.sessions.insert({ ...testSession(), ...row, created_at: tx.now }),
      );
    });
    this.#scheduler.start();
    this.delay.enable();
  }

  async say(text: string): Promise<void> {
    await inTurns(this.#count, async (index) => {
      const { workspaceId, sessionId, threadId } = named(index);
      const message = {
        id: newId("sevt"),
        thread_id: threadId,
        cross_posted: false,
        type: "user.message" as const,
        public: { content: [{ type: "text" as const, text }] },
        private: {},
      };
      await this.#store.write((tx) => tx.events.accept({ workspaceId, sessionId }, [message]));
    });
  }

  untilIdle(): Promise<void> {
    return until(() => this.idle === this.#count);
  }

  /** The loop's delay since it was last asked for: the 99th percentile. */
  takeDelayMs(): number {
    const taken = this.delay.percentile(99) / 1e6;
    this.delay.reset();
    return taken;
  }

  async close(): Promise<void> {
    this.delay.disable();
    await this.#scheduler.close();
    await this.#store.close();
  }
}

function named(index: number) {
  const [workspaceId, sessionId] = ["wrkspc_1", `sesn_${index}`];
  return { workspaceId, sessionId, threadId: `sthr_${index}` };
}

/** Answers after a while, and says a word each second until then. */
class SlowModel implements Model {
  answerMs = 0;
  asked = 0;

  respond: Model["respond"] = async (_request, observer, signal) => {
    this.asked += 1;
    if (this.answerMs === 0) return SAID;
    observer.blockStarted(0, "text");
    const words = setInterval(() => observer.textDelta(0, "word "), WORD_MS);
    await systemClock.sleepUntil(systemClock.now() + this.answerMs, signal);
    clearInterval(words);
    return SAID;
  };
}

async function stock(): Promise<{ inUse: number; resident: number }> {
  for (let time = 0; time < 3; time += 1) {
    globalThis.gc?.();
    await nextTurn();
  }
  const { heapUsed, external, rss } = process.memoryUsage();
  return { inUse: heapUsed + external, resident: rss };
}

async function until(isReached: () => boolean): Promise<void> {
  while (!isReached()) await systemClock.sleepUntil(systemClock.now() + 5, NEVER);
}

const NEVER = new AbortController().signal;

async function inTurns<T>(n: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (let from = 0; from < n; from += AT_ONCE) {
    const length = Math.min(AT_ONCE, n - from);
    results.push(...(await Promise.all(Array.from({ length }, (_, lane) => work(from + lane)))));
  }
  return results;
}
