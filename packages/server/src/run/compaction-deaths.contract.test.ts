import {
  answer,
  type MessagesRequest,
  type Script,
  text,
  toolCall,
  toolResultsOf,
} from "@drover/testing";
import { describe, expect, test } from "vitest";
import type { LogEvent } from "../core/session/log-event.ts";
import { type BrainWorld, createBrainWorld } from "../testing/brain.ts";
import { brokenLogRules, comparableLog } from "../testing/log-rules.ts";

const WINDOW = 4_000;
const QUESTION = "What was the first thing I said?";

const isSummary = (request: MessagesRequest) => request.lastUserText.includes("Stop here.");

/** Talks until it is asked what was said first; then it looks back, and does one more thing. */
const SCRIPT: Script = (request) => {
  if (isSummary(request)) return answer(text("There was some talk."));
  const results = JSON.stringify([...toolResultsOf(request).values()]);
  if (results.includes("read it")) return answer(text("You said hello."));
  if (results.includes("hello")) return answer(toolCall("read", { file_path: "a" }));
  return request.lastUserText.includes(QUESTION)
    ? answer(text("I look."), toolCall("session_events", { query: "hello", limit: 5 }))
    : answer(text("Word after word. ".repeat(40)));
};

const world = (firstId = 0) =>
  createBrainWorld({ script: SCRIPT, tools: { read: () => "read it" }, window: WINDOW, firstId });

/** A session that the next message is too much for. */
async function longTalk(): Promise<readonly LogEvent[]> {
  await using brain = await world();
  const key = await brain.newSession();
  for (let turn = 0; turn < 9; turn++) {
    await brain.send(key, `hello ${turn}. ${"Say something. ".repeat(30)}`);
    await brain.run();
  }
  return await brain.log(key);
}

/**
 * A lost request moves all that comes after it, and leaves its prompt in the API's cache: positions in
 * what was looked up, and what of a prompt was read from there, may differ.
 */
function comparable(log: readonly LogEvent[]): readonly unknown[] {
  return comparableLog(
    log.map((event): LogEvent => {
      if (event.type === "span.model_request_end") {
        const { model_usage: usage } = event.public;
        const all =
          usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens;
        const counts = { cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
        const model_usage = { ...usage, ...counts, input_tokens: all };
        return { ...event, public: { ...event.public, model_usage } };
      }
      if (event.type !== "agent.tool_result" || event.private.reason !== "looked_back")
        return event;
      const text = JSON.stringify(event.public.content).replace(/from seq \d+ to \d+/, "");
      return { ...event, public: { ...event.public, content: [{ type: "text", text }] } };
    }),
  );
}

async function settled(brain: BrainWorld): Promise<void> {
  for (let processes = 0; processes < 6; processes++) {
    const { trace } = await brain.run();
    if (trace.length === 2) return;
  }
  throw new Error("the session does not come to rest");
}

describe("a process that dies around a compaction", async () => {
  const before = await longTalk();

  async function asked(brain: BrainWorld) {
    const key = await brain.sessionWith(before);
    await brain.send(key, `${QUESTION} ${"I mean it. ".repeat(40)}`);
    return key;
  }

  async function undisturbed() {
    await using brain = await world(1_000_000);
    const key = await asked(brain);
    const mortal = await brain.run();
    return { log: await brain.log(key), steps: mortal.trace };
  }

  const reference = await undisturbed();
  const steps = reference.steps.map((name, index) => ({ name, killAt: index + 1 }));

  test("undisturbed the turn counts, compacts, looks back and calls a tool", () => {
    const turn = reference.log.slice(before.length).map(({ type }) => type);
    expect(turn).toEqual([
      "session.status_running",
      "session.thread_status_running",
      "user.message",
      "drover.context_counted",
      "span.model_request_start",
      "span.model_request_end",
      "agent.thread_context_compacted",
      "span.model_request_start",
      "agent.message",
      "agent.tool_use",
      "span.model_request_end",
      "agent.tool_result",
      "span.model_request_start",
      "agent.tool_use",
      "span.model_request_end",
      "drover.call_started",
      "agent.tool_result",
      "span.model_request_start",
      "agent.message",
      "span.model_request_end",
      "session.thread_status_idle",
      "session.usage",
      "session.status_idle",
    ]);
    expect(reference.steps).toContain("before count");
  });

  test.each(steps)("killed $name (step $killAt), the log is the same", async ({ killAt }) => {
    // Disposing of it fails if the double refused a request.
    await using brain = await world(1_000_000);
    const key = await asked(brain);
    await brain.run(killAt);
    await settled(brain);
    const log = await brain.log(key);
    expect(brokenLogRules(log)).toEqual([]);
    expect(comparable(log)).toEqual(comparable(reference.log));
    expect(brain.hands.executions).toHaveLength(1);
    const summaries = log.flatMap((event) =>
      event.type === "agent.thread_context_compacted" ? [event.private] : [],
    );
    expect(summaries).toEqual(
      reference.log.flatMap((event) =>
        event.type === "agent.thread_context_compacted" ? [event.private] : [],
      ),
    );
  });

  test("an interrupt while the summary is written ends the turn, and the next one compacts", async () => {
    const arrived = Promise.withResolvers<void>();
    let isHeld = true;
    await using brain = await createBrainWorld({
      script: async (request, n) => {
        if (isSummary(request) && isHeld) {
          arrived.resolve();
          await new Promise<never>(() => {});
        }
        return typeof SCRIPT === "function" ? SCRIPT(request, n) : answer();
      },
      tools: { read: () => "read it" },
      window: WINDOW,
      firstId: 1_000_000,
    });
    const key = await asked(brain);
    const running = brain.run();
    await arrived.promise;
    await brain.send(key, "interrupt");
    await running;
    const interrupted = await brain.log(key);
    expect(interrupted.at(-1)?.public).toMatchObject({ stop_reason: { type: "end_turn" } });
    expect(interrupted.some(({ type }) => type === "agent.thread_context_compacted")).toBe(false);
    isHeld = false;
    await brain.send(key, QUESTION);
    await brain.run();
    const log = await brain.log(key);
    expect(brokenLogRules(log)).toEqual([]);
    const compacted = log.filter(({ type }) => type === "agent.thread_context_compacted");
    expect(compacted).toHaveLength(1);
    expect(log.findLast(({ type }) => type === "agent.message")?.public).toMatchObject({
      content: [{ text: "You said hello." }],
    });
  });
});

describe("a process that dies around a compaction that frees nothing, or around the cut after it", async () => {
  const before = await longTalk();
  // It repeats all that it was to sum up.
  const script: Script = (request, n) => {
    if (isSummary(request)) {
      return answer(text(JSON.stringify(request.body["messages"]).slice(0, 9_000)));
    }
    return typeof SCRIPT === "function" ? SCRIPT(request, n) : answer();
  };
  const useless = () => createBrainWorld({ script, tools: {}, window: WINDOW, firstId: 1_000_000 });

  /** Two turns, of which one dies at a step: the one that reaches the limit, and the one that cuts. */
  async function played(brain: BrainWorld, dying: 1 | 2, killAt: number) {
    const key = await brain.sessionWith(before);
    await brain.send(key, `Well? ${"I mean it. ".repeat(40)}`);
    const first = await brain.run(dying === 1 ? killAt : 0);
    await settled(brain);
    await brain.send(key, "Are you still there?");
    const second = await brain.run(dying === 2 ? killAt : 0);
    await settled(brain);
    return { log: await brain.log(key), first, second };
  }

  async function undisturbed() {
    await using brain = await useless();
    return await played(brain, 1, 0);
  }

  const reference = await undisturbed();
  const deaths = [reference.first, reference.second].flatMap(({ trace }, turn) =>
    trace.map((name, index) => ({ name, dying: turn === 0 ? 1 : 2, killAt: index + 1 }) as const),
  );

  test("undisturbed the first turn ends with the error, and the second answers", () => {
    const stops = reference.log
      .slice(before.length)
      .flatMap((event) =>
        event.type === "session.status_idle" ? [event.public.stop_reason.type] : [],
      );
    expect(stops).toEqual(["retries_exhausted", "end_turn"]);
    const how = reference.log.flatMap((event) =>
      event.type === "agent.thread_context_compacted" ? [event.private.how] : [],
    );
    expect(how).toEqual(["cut"]);
  });

  test.each(deaths)("killed $name (turn $dying, step $killAt)", async ({ dying, killAt }) => {
    await using brain = await useless();
    const { log } = await played(brain, dying, killAt);
    expect(brokenLogRules(log)).toEqual([]);
    expect(comparable(log)).toEqual(comparable(reference.log));
  });
});
