import { answer, type Script, text, toolCall, toolResultsOf } from "@drover/testing";
import { expect, test } from "vitest";
import type { LogEvent } from "../core/session/log-event.ts";
import { createBrainWorld } from "../testing/brain.ts";

const TURNS = 20;
/** As long as the output of a small command. */
const OUTPUT = "a line of what the command printed\n".repeat(20);

/** More blocks a turn than the cache looks back over. */
const PARALLEL: Script = (request) =>
  toolResultsOf(request).size > 0
    ? answer(text("Done. ".repeat(20)))
    : answer(...Array.from({ length: 12 }, (_, n) => toolCall("read", { n })));

/** The share of all input tokens that came from the cache, by what the API reported. */
function cacheReadShare(log: readonly LogEvent[]): number {
  let read = 0;
  let all = 0;
  for (const event of log) {
    if (event.type !== "span.model_request_end") continue;
    const usage = event.public.model_usage;
    read += usage.cache_read_input_tokens;
    all += usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
  }
  return read / all;
}

test("over 20 turns nine tenths of the input are read from the cache", async () => {
  await using brain = await createBrainWorld({
    script: PARALLEL,
    tools: { read: () => OUTPUT },
  });
  const key = await brain.newSession();
  for (let turn = 0; turn < TURNS; turn++) {
    await brain.send(key, `Turn ${turn}: read what there is.`);
    await brain.run();
  }
  const log = await brain.log(key);
  expect(brain.api.requests).toHaveLength(TURNS * 2);
  const share = cacheReadShare(log);
  expect(share).toBeGreaterThan(0.9);
  // Every request but the first few, which are below the model's minimum, reads all of the one before.
  const unread = log.filter(
    (event) =>
      event.type === "span.model_request_end" &&
      event.public.model_usage.cache_read_input_tokens === 0,
  );
  expect(unread.length).toBeLessThanOrEqual(2);
});

test("after a compaction the next turns read nine tenths again", async () => {
  const script: Script = (request, n) => {
    if (request.lastUserText.includes("Stop here.")) return answer(text("Much was read."));
    return typeof PARALLEL === "function" ? PARALLEL(request, n) : answer();
  };
  await using brain = await createBrainWorld({
    script,
    tools: { read: () => OUTPUT },
    window: 100_000,
  });
  const key = await brain.newSession();
  const isCompacted = (event: LogEvent) => event.type === "agent.thread_context_compacted";
  let log: readonly LogEvent[] = [];
  for (let turn = 0; log.filter(isCompacted).length < 2; turn++) {
    expect(turn).toBeLessThan(80);
    await brain.send(key, `Turn ${turn}: read what there is.`);
    await brain.run();
    log = await brain.log(key);
  }
  const [first = 0, second = 0] = log.filter(isCompacted).map(({ seq }) => seq);
  const between = log.slice(first, second - 2);
  const requests = between.filter(({ type }) => type === "span.model_request_start").length;
  expect(requests).toBeGreaterThan(20);
  expect(cacheReadShare(between)).toBeGreaterThan(0.9);
  // The request for the summary reads what was there before it, not only the tools.
  expect(cacheReadShare(log.slice(second - 2, second))).toBeGreaterThan(0.5);
});
