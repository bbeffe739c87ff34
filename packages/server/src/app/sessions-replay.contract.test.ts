import { answer, type Script, text, toolResultsOf } from "@drover/testing";
import { describe, expect, test } from "vitest";
import type { ModelOutcome } from "../core/ports/model.ts";
import { RequestFinder } from "../core/replay/recorded-requests.ts";
import type { LogEvent } from "../core/session/log-event.ts";
import { askModel } from "../run/ask-model.ts";
import { createBrainWorld } from "../testing/brain.ts";
import { recordedLogs } from "../testing/recorded-logs.ts";

const ANSWER: Script = (request) =>
  toolResultsOf(request).size > 0 ? answer(text("With results.")) : answer(text("Going on."));

describe.each(recordedLogs())("$file", ({ log }) => {
  test("each answered request can be asked again, and the API takes it", async () => {
    await using brain = await createBrainWorld({ script: ANSWER, tools: {}, firstId: 1_000_000 });
    const key = await brain.sessionWith(log);
    const session = await brain.store.sessions.find(key);
    if (session === undefined) throw new Error("there is no session");
    const finder = new RequestFinder();
    const requests = log.flatMap((event) => finder.take(event) ?? []);
    // A summary that the loop asked for is none of the conversation.
    const summaries = new Set(
      log.flatMap((event) =>
        event.type === "span.model_request_start" && event.private.purpose === "compaction"
          ? [event.id]
          : [],
      ),
    );
    const answered = log.filter(
      (event) =>
        event.type === "span.model_request_end" &&
        event.private.outcome === "response" &&
        !summaries.has(event.public.model_request_start_id),
    );
    expect(requests).toHaveLength(answered.length);
    const outcomes: ModelOutcome[] = [];
    for (const { context, listing } of requests) {
      const asked = { session, context, listing };
      outcomes.push(await askModel(brain.deps, asked, AbortSignal.timeout(10_000)));
    }
    expect(outcomes.map(({ type }) => type)).toEqual(requests.map(() => "response"));
    expect(requests.map(({ seq }) => seq)).toEqual(
      requests.map(({ seq }) => seq).toSorted((a, b) => a - b),
    );
    for (const [index, { context, seq }] of requests.entries()) {
      expect(context.every((event) => event.seq < seq)).toBe(true);
      const isCompacted = context.some(({ type }) => type === "agent.thread_context_compacted");
      const tools = JSON.stringify(brain.api.requests[index]?.body["tools"]);
      expect(tools.includes('"session_events"')).toBe(isCompacted);
    }
    // Nothing of it is in the session: its log is what it was.
    expect(await brain.log(key)).toHaveLength(log.length);
    expect(brain.hands.executions).toEqual([]);
  });
});

test.each([
  ["that is known", true],
  ["that a refusal told", false],
])(
  "a request is asked again with a response that fits a small window %s",
  async (_what, isKnown) => {
    const window = 9_000;
    await using brain = await createBrainWorld({
      script: ANSWER,
      tools: {},
      window,
      isWindowKnown: isKnown,
      firstId: 1_000_000,
    });
    const log = recordedLogs().find(({ file }) => file.startsWith("two-tools"))?.log ?? [];
    const key = await brain.sessionWith(log);
    const session = await brain.store.sessions.find(key);
    if (session === undefined) throw new Error("there is no session");
    const finder = new RequestFinder();
    const requests = log
      .map(
        (event): LogEvent =>
          event.type === "span.model_request_end" && !isKnown
            ? { ...event, private: { ...event.private, window_tokens: window } }
            : event,
      )
      .flatMap((event) => finder.take(event) ?? []);
    const last = requests.at(-1)?.context ?? [];
    const outcome = await askModel(
      brain.deps,
      { session, context: last, listing: undefined },
      AbortSignal.timeout(10_000),
    );
    expect(outcome.type).toBe("response");
  },
);
