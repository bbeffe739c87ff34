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
