import { setImmediate } from "node:timers/promises";
import {
  type Answer,
  answer,
  type MessagesRequest,
  overloaded,
  rateLimited,
  text,
  toolCall,
} from "@drover/testing";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { LogEvent } from "../core/session/log-event.ts";
import { type BrainWorld, createBrainWorld } from "./brain.ts";
import { impatientClock } from "./impatient-clock.ts";
import { brokenLogRules } from "./log-rules.ts";

/**
 * A session that works for a day, in its own process so that its heap can be measured: 2,000 rounds of
 * tools in five turns, on a file, with a clock that jumps. Prints one line of JSON, `SimulatedDay`, and
 * ends by itself. Run with `--expose-gc`.
 */
export interface SimulatedDay {
  readonly rounds: number;
  readonly turns: number;
  readonly compactions: number;
  readonly retries: number;
  readonly approvals: number;
  readonly events: number;
  readonly hours: number;
  /** Bytes of heap after collection, by round. */
  readonly heap: Readonly<Record<number, number>>;
  /** Timers that were running then, by round. */
  readonly timers: Readonly<Record<number, number>>;
  /** Bytes of the largest checkpoint that was seen. */
  readonly checkpointMax: number;
  readonly broken: readonly string[];
  readonly executions: number;
  readonly errors: readonly string[];
  readonly stopReasons: readonly string[];
}

const TURNS = 5;
const ROUNDS_OF_TURN = 400;
const MEASURED: readonly number[] = [200, TURNS * ROUNDS_OF_TURN];
/** Tokens. Small enough for 30 compactions. */
const WINDOW = 36_000;
const RETRY_EVERY = 40;
const APPROVAL_EVERY = 100;
const PARALLEL_EVERY = 25;
const OUTPUT = "one more line of what the command printed\n".repeat(25);
const TOOL_MS = 30_000;
const APPROVAL_MS = 3 * 3_600_000;
const PAGE = 5_000;

class Day {
  readonly heap: Record<number, number> = {};
  readonly timers: Record<number, number> = {};
  readonly errors: string[] = [];
  readonly clock = impatientClock();
  readonly #startMs = this.clock.now();
  checkpointMax = 0;
  approvals = 0;
  retries = 0;
  #round = 0;
  #hasFailed = false;

  /** One tool round after another; now and then the API is busy, or the call has to be asked for. */
  answer(request: MessagesRequest): Answer {
    if (request.lastUserText.includes("Stop here.")) {
      return answer(text(`After ${this.#round} rounds all is well.`));
    }
    const isNewTurn = /^turn \d+$/m.test(lastText(request));
    if (!isNewTurn && this.#round % ROUNDS_OF_TURN === 0) return answer(text("The turn is done."));
    if (this.#round % RETRY_EVERY === RETRY_EVERY - 1 && !this.#hasFailed) {
      this.#hasFailed = true;
      this.retries += 1;
      return this.retries % 2 === 0 ? overloaded() : rateLimited(500);
    }
    this.#hasFailed = false;
    this.#round += 1;
    const round = this.#round;
    const name = round % APPROVAL_EVERY === 0 ? "ask_write" : "bash";
    const more = round % PARALLEL_EVERY === 0 ? [toolCall("read", { round, more: true })] : [];
    return answer(text(`Round ${round}.`), toolCall(name, { round }), ...more);
  }

  async tool(input: Readonly<Record<string, unknown>>): Promise<string> {
    const round = Number(input["round"]);
    await this.clock.sleepUntil(this.clock.now() + TOOL_MS, new AbortController().signal);
    if (input["more"] === undefined && MEASURED.includes(round)) await this.#measure(round);
    return OUTPUT;
  }

  get hours(): number {
    return (this.clock.now() - this.#startMs) / 3_600_000;
  }

  async #measure(round: number): Promise<void> {
    // Between collections finalizers run, which let go of more.
    for (let time = 0; time < 4; time++) {
      globalThis.gc?.();
      await setImmediate();
    }
    this.heap[round] = process.memoryUsage().heapUsed;
    this.timers[round] = timers();
  }
}

function timers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
}

/** The words of the newest message, which has none if it has results. */
function lastText({ body }: MessagesRequest): string {
  const messages = body["messages"] as readonly { content: unknown }[];
  return JSON.stringify(messages.at(-1)?.content ?? "").replaceAll(/[[\]{}",:]/g, "\n");
}

/** Lets the session work, and the user come back after hours for what it asks. */
async function work(brain: BrainWorld, key: SessionKey, day: Day): Promise<void> {
  for (;;) {
    await brain.run();
    const checkpoint = await brain.store.sessions.findCheckpoint(key);
    const bytes = Buffer.byteLength(checkpoint?.state ?? "");
    day.checkpointMax = Math.max(day.checkpointMax, bytes);
    const [last] = await brain.store.events.getEvents(key, { limit: 1, order: "desc" });
    if (last?.type !== "session.status_idle") throw new Error(`the session ends in ${last?.type}`);
    const { stop_reason } = last.public;
    if (stop_reason.type !== "requires_action") return;
    day.approvals += 1;
    await day.clock.sleepUntil(day.clock.now() + APPROVAL_MS, new AbortController().signal);
    const allow = { type: "user.tool_confirmation", result: "allow" } as const;
    const answers = stop_reason.event_ids.map((tool_use_id) => ({ ...allow, tool_use_id }));
    await brain.post(key, ...answers);
  }
}

async function wholeLog(brain: BrainWorld, key: SessionKey): Promise<readonly LogEvent[]> {
  const log: LogEvent[] = [];
  for (;;) {
    const after = log.at(-1)?.seq ?? 0;
    const page = await brain.store.events.getEvents(key, { after, limit: PAGE });
    if (page.length === 0) return log;
    log.push(...page);
  }
}

async function simulate(): Promise<SimulatedDay> {
  const day = new Day();
  await using brain = await createBrainWorld({
    clock: day.clock,
    offered: ["bash", "read", "ask_write"],
    tools: { "*": ({ input }) => day.tool(input) },
    script: (request) => day.answer(request),
    window: WINDOW,
    keep: 1,
    onError: (message) => day.errors.push(message),
  });
  const key = await brain.newSession();
  for (let turn = 1; turn <= TURNS; turn++) {
    await brain.send(key, `turn ${turn}`);
    await work(brain, key, day);
  }
  const log = await wholeLog(brain, key);
  const stopReasons = log.flatMap((event) =>
    event.type === "session.status_idle" ? [event.public.stop_reason.type] : [],
  );
  const { hours, heap, checkpointMax, errors, approvals, retries } = day;
  return {
    ...{ rounds: TURNS * ROUNDS_OF_TURN, turns: TURNS, approvals, retries, errors },
    compactions: log.filter(({ type }) => type === "agent.thread_context_compacted").length,
    ...{ events: log.length, hours, heap, timers: day.timers, checkpointMax },
    broken: brokenLogRules(log),
    executions: new Set(brain.hands.executions.map(({ callId }) => callId)).size,
    stopReasons: [...new Set(stopReasons)],
  };
}

process.stdout.write(`${JSON.stringify(await simulate())}\n`);
