import {
  answer,
  type MessagesRequest,
  overloaded,
  type Script,
  text,
  thinking,
  toolCall,
  toolResultsOf,
} from "@drover/testing";
import { describe, expect, test } from "vitest";
import { contextMessages } from "../core/harness/context.ts";
import { BARE_POLICIES } from "../core/harness/policies.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { EventType, LogEvent, LogEventOf } from "../core/session/log-event.ts";
import { toWire } from "../core/session/wire.ts";
import { type BrainWorld, createBrainWorld } from "../testing/brain.ts";
import { brokenLogRules } from "../testing/log-rules.ts";
import { SessionView } from "./session-view.ts";

const WINDOW = 4_000;

const isSummary = (request: MessagesRequest) => request.lastUserText.includes("Stop here.");
const says = (value: string) => answer(text(value));

/** Talks at length, and sums up in a sentence. */
const TALKER: Script = (request) =>
  isSummary(request)
    ? says("All of it was about numbers.")
    : says(`About ${request.lastUserText.slice(0, 8)} ${"Word after word. ".repeat(40)}`);

const turnText = (turn: number) => `Turn ${turn}. ${"Say something. ".repeat(30)}`;

async function talk(brain: BrainWorld, turns: number): Promise<SessionKey> {
  const key = await brain.newSession();
  for (let turn = 1; turn <= turns; turn++) await say(brain, key, turnText(turn));
  return key;
}

async function say(brain: BrainWorld, key: SessionKey, value: string): Promise<void> {
  await brain.send(key, value);
  await brain.run();
}

function only<T extends EventType>(log: readonly LogEvent[], type: T): readonly LogEventOf<T>[] {
  return log.filter((event): event is LogEventOf<T> => event.type === type);
}

const compactions = (log: readonly LogEvent[]) => only(log, "agent.thread_context_compacted");
const errors = (log: readonly LogEvent[]) =>
  only(log, "session.error").map((event) => event.public.error);
const stopReasons = (log: readonly LogEvent[]) =>
  only(log, "session.status_idle").map((event) => event.public.stop_reason.type);
const messagesOf = (request: MessagesRequest | undefined) =>
  JSON.parse(
    JSON.stringify(request?.body["messages"], (key, value) =>
      key === "cache_control" ? undefined : value,
    ),
  ) as { role: string; content: { type: string; text?: string }[] }[];

describe("when the next request would not fit", () => {
  test("the older part is summarised, the newest turn stays as it was, and the session goes on", async () => {
    await using brain = await createBrainWorld({ script: TALKER, tools: {}, window: WINDOW });
    const key = await talk(brain, 30);
    const log = await brain.log(key);
    expect(brokenLogRules(log)).toEqual([]);
    expect(compactions(log).length).toBeGreaterThan(1);
    expect(errors(log)).toEqual([]);
    expect(stopReasons(log)).toEqual(Array(30).fill("end_turn"));
    for (const { private: compaction, seq } of compactions(log)) {
      expect(compaction.how).toBe("summary");
      expect(compaction.tokens_after).toBeLessThan(compaction.tokens_before / 2);
      // It comes with input that is not answered yet, and keeps that.
      const newest = only(log, "user.message").findLast((event) => event.seq < seq);
      expect(compaction.kept_from).toBeLessThanOrEqual(newest?.seq ?? 0);
    }
    const at = brain.api.requests.findIndex(isSummary);
    const [before = [], after = []] = [at - 1, at + 1].map((n) =>
      messagesOf(brain.api.requests[n]),
    );
    const [summary, input] = [after[0]?.content[0]?.text, after.at(-1)];
    expect(summary).toContain("All of it was about numbers.");
    expect(input?.content).toEqual([{ type: "text", text: turnText(10) }]);
    // The turn before is there byte for byte: its input behind the summary, its answer after it.
    expect(after[0]?.content.slice(1)).toEqual(before.at(-1)?.content);
  });

  test("it is shown as the contract shows it, between the requests, and its usage counts", async () => {
    await using brain = await createBrainWorld({ script: TALKER, tools: {}, window: WINDOW });
    const key = await talk(brain, 12);
    const log = await brain.log(key);
    const [first] = compactions(log);
    if (first === undefined) throw new Error("there was no compaction");
    expect(toWire(first)).toEqual({
      id: first.id,
      type: "agent.thread_context_compacted",
      processed_at: first.processed_at,
    });
    const around = log.slice(first.seq - 4, first.seq + 1).map(({ type }) => type);
    expect(around).toEqual([
      "drover.context_counted",
      "span.model_request_start",
      "span.model_request_end",
      "agent.thread_context_compacted",
      "span.model_request_start",
    ]);
    const total = only(log, "span.model_request_end").reduce(
      (sum, { public: { model_usage: usage } }) => sum + usage.output_tokens,
      0,
    );
    expect(only(log, "session.usage").at(-1)?.public.usage.output_tokens).toBe(total);
  });

  test("another process sends what this one would: it is in the log", async () => {
    await using brain = await createBrainWorld({ script: TALKER, tools: {}, window: WINDOW });
    const key = await talk(brain, 24);
    const log = await brain.log(key);
    const view = await SessionView.load(brain.store, key);
    const first = view?.context[0]?.seq ?? 0;
    expect(first).toBe(compactions(log).at(-1)?.private.kept_from);
    expect(contextMessages(view?.context ?? [])).toEqual(contextMessages(log));
    await say(brain, key, "And now?");
    const sent = messagesOf(brain.api.requests.at(-1));
    expect(sent.slice(0, -1)).toEqual(
      JSON.parse(JSON.stringify(contextMessages(log))) as unknown[],
    );
  });

  test("with input that came in the same breath as an interrupt nothing is asked", async () => {
    await using brain = await createBrainWorld({ script: TALKER, tools: {}, window: WINDOW });
    const key = await talk(brain, 9);
    const asked = brain.api.requests.length;
    await brain.send(key, turnText(10), "interrupt");
    await brain.run();
    expect(brain.api.requests).toHaveLength(asked);
    await say(brain, key, "Go on.");
    const log = await brain.log(key);
    expect(brokenLogRules(log)).toEqual([]);
    expect(compactions(log)).toHaveLength(1);
  });
});

describe("one turn that is longer than the window", () => {
  const ROUNDS = 40;
  const WORKER: Script = (request) => {
    if (isSummary(request))
      return says("Some of the files were read; the code word is still KIWI.");
    const results = [...toolResultsOf(request).values()].length;
    const read = brainRounds(request);
    if (read >= ROUNDS && results > 0) return says("All read.");
    return answer(
      thinking("One more."),
      toolCall("read", { n: read }),
      toolCall("read", { n: read + 0.5 }),
    );
  };
  let rounds = 0;
  const brainRounds = (_request: MessagesRequest) => rounds++;

  test("is compacted in its middle, never between a call and its result, and its input is repeated", async () => {
    rounds = 0;
    await using brain = await createBrainWorld({
      script: WORKER,
      tools: { read: () => "a line of the file\n".repeat(15) },
      window: WINDOW,
    });
    const key = await brain.newSession();
    await say(brain, key, "Read everything there is, and mind the code word KIWI.");
    const log = await brain.log(key);
    expect(brokenLogRules(log)).toEqual([]);
    expect(errors(log)).toEqual([]);
    expect(stopReasons(log)).toEqual(["end_turn"]);
    expect(compactions(log).length).toBeGreaterThan(2);
    for (const { private: compaction } of compactions(log)) {
      expect(compaction.input).toEqual([
        { type: "text", text: "Read everything there is, and mind the code word KIWI." },
      ]);
      const results = log.filter(({ seq }) => seq >= compaction.kept_from);
      for (const result of only(results, "agent.tool_result")) {
        const use = log.find(({ id }) => id === result.public.tool_use_id);
        expect(use?.seq).toBeGreaterThanOrEqual(compaction.kept_from);
      }
    }
    // Each of the requests was accepted by the double, which wants every call answered.
    expect(brain.api.refusals).toEqual([]);
  });

  test("outputs that are longer than the window themselves are summed up shortened", async () => {
    await using brain = await createBrainWorld({
      script: (request) => {
        if (isSummary(request)) return says("A very long file was read.");
        if (request.lastUserText.includes("This is a summary")) return says("Read.");
        return request.lastUserText.includes("Read it")
          ? answer(toolCall("read", {}))
          : says("Going on.");
      },
      tools: { read: () => "a line of the file\n".repeat(2_000) },
      window: WINDOW,
    });
    const key = await brain.newSession();
    await say(brain, key, "Read it.");
    const log = await brain.log(key);
    expect(errors(log)).toEqual([]);
    expect(compactions(log)).toHaveLength(1);
    expect(JSON.stringify(brain.api.requests.find(isSummary)?.body)).toContain("are left out here");
    expect(messagesOf(brain.api.requests.at(-1)).at(-1)?.content.at(-1)?.text).toBe("Read it.");
  });
});

describe("when nobody knows the window", () => {
  test("it is learned from the refusal, and the refused request is asked again, smaller", async () => {
    const brain = await createBrainWorld({
      script: TALKER,
      tools: {},
      window: WINDOW,
      isWindowKnown: false,
    });
    const key = await talk(brain, 30);
    const log = await brain.log(key);
    expect(brokenLogRules(log)).toEqual([]);
    expect(errors(log)).toEqual([]);
    expect(compactions(log).length).toBeGreaterThan(2);
    const refused = only(log, "span.model_request_end").filter(
      (event) => event.private.reason === "prompt_too_long",
    );
    // The very first asks for more output than there is room for; after it the window is known.
    expect(refused.map((event) => event.private.window_tokens)).toEqual([WINDOW]);
    expect(brain.api.refusals.map(({ rule }) => rule)).toEqual(["output-does-not-fit"]);
    await expect(brain[Symbol.asyncDispose]()).rejects.toThrow("output-does-not-fit");
  });

  test("without a number in the refusal the context is compacted each time it is refused", async () => {
    const brain = await createBrainWorld({
      script: TALKER,
      tools: {},
      window: WINDOW,
      isWindowKnown: false,
    });
    const { model } = brain.deps;
    const deps = {
      ...brain.deps,
      policies: { ...brain.deps.policies, maxTokens: 500 },
      model: {
        respond: async (...given: Parameters<typeof model.respond>) => {
          const outcome = await model.respond(...given);
          if (outcome.type !== "failure") return outcome;
          const { windowTokens: _told, ...untold } = outcome;
          return untold;
        },
      },
    };
    const key = await brain.newSession();
    for (let turn = 1; turn <= 30; turn++) {
      await brain.send(key, turnText(turn));
      await brain.run(0, deps);
    }
    const log = await brain.log(key);
    expect(errors(log)).toEqual([]);
    expect(stopReasons(log)).toEqual(Array(30).fill("end_turn"));
    expect(compactions(log).length).toBeGreaterThan(1);
    await expect(brain[Symbol.asyncDispose]()).rejects.toThrow("output-does-not-fit");
  });
});

describe("a compaction that frees nothing", () => {
  const LIMIT_REACHED = {
    type: "compaction_limit_reached_error",
    message: expect.any(String),
    retry_status: { type: "exhausted" },
  };

  test("ends the turn with its error; the next message goes on without the older part", async () => {
    // It repeats everything that it was to sum up.
    const script: Script = (request) =>
      isSummary(request)
        ? says(JSON.stringify(request.body["messages"]).slice(0, 9_000))
        : says(`Indeed. ${"Word after word. ".repeat(40)}`);
    await using brain = await createBrainWorld({ script, tools: {}, window: WINDOW });
    const key = await talk(brain, 9);
    await say(brain, key, turnText(10));
    const failed = await brain.log(key);
    expect(errors(failed)).toEqual([LIMIT_REACHED]);
    expect(stopReasons(failed).at(-1)).toBe("retries_exhausted");
    expect(compactions(failed)).toEqual([]);
    await say(brain, key, "Are you still there?");
    const log = await brain.log(key);
    expect(stopReasons(log).at(-1)).toBe("end_turn");
    expect(compactions(log).map((event) => event.private.how)).toEqual(["cut"]);
    expect(messagesOf(brain.api.requests.at(-1)).at(-1)?.content.at(-1)?.text).toBe(
      "Are you still there?",
    );
    expect(brokenLogRules(log)).toEqual([]);
  });

  test("a message that alone is too long is told so, and does not block the next", async () => {
    const brain = await createBrainWorld({ script: TALKER, tools: {}, window: WINDOW });
    const key = await talk(brain, 3);
    await say(brain, key, "Far too much. ".repeat(2_000));
    const log = await brain.log(key);
    expect(errors(log)).toEqual([LIMIT_REACHED]);
    expect(stopReasons(log).at(-1)).toBe("retries_exhausted");
    await say(brain, key, "Less then.");
    expect(stopReasons(await brain.log(key)).at(-1)).toBe("end_turn");
    const sent = messagesOf(brain.api.requests.at(-1));
    expect(JSON.stringify(sent)).not.toContain("Far too much. Far too much.");
    await brain[Symbol.asyncDispose]();
  });

  test("is one that comes out empty three times: then the older part is cut off, in the same turn", async () => {
    const script: Script = (request) =>
      isSummary(request)
        ? answer(toolCall("read", {}))
        : says(`Indeed. ${"Word after word. ".repeat(40)}`);
    await using brain = await createBrainWorld({ script, tools: {}, window: WINDOW });
    const key = await talk(brain, 10);
    const log = await brain.log(key);
    expect(brain.api.requests.filter(isSummary)).toHaveLength(3);
    expect(compactions(log).map((event) => event.private.how)).toEqual(["cut"]);
    expect(errors(log)).toEqual([]);
    expect(brokenLogRules(log)).toEqual([]);
    expect(only(log, "agent.tool_use")).toEqual([]);
  });
});

describe("a summary that cannot be had", () => {
  test("for a while is asked for again, as any request is", async () => {
    let failures = 0;
    const script: Script = (request, n) => {
      if (!isSummary(request)) return typeof TALKER === "function" ? TALKER(request, n) : answer();
      failures += 1;
      return failures <= 2 ? overloaded() : says("All of it was about numbers.");
    };
    await using brain = await createBrainWorld({ script, tools: {}, window: WINDOW });
    const key = await talk(brain, 10);
    const log = await brain.log(key);
    expect(brokenLogRules(log)).toEqual([]);
    const retrying = { type: "model_overloaded_error", retry_status: { type: "retrying" } };
    expect(errors(log)).toMatchObject([retrying, retrying]);
    expect(compactions(log)).toHaveLength(1);
    const attempts = only(log, "span.model_request_start")
      .filter((event) => event.private.purpose === "compaction")
      .map((event) => event.private.attempt);
    expect(attempts).toEqual([1, 2, 3]);
    expect(stopReasons(log).at(-1)).toBe("end_turn");
  });

  test("ends the turn like any request once its attempts are used up, and the next one tries again", async () => {
    let isDown = true;
    const script: Script = (request, n) => {
      if (isSummary(request) && isDown) return overloaded();
      return typeof TALKER === "function" ? TALKER(request, n) : answer();
    };
    await using brain = await createBrainWorld({ script, tools: {}, window: WINDOW });
    const key = await talk(brain, 10);
    expect(errors(await brain.log(key)).at(-1)).toMatchObject({
      type: "model_overloaded_error",
      retry_status: { type: "exhausted" },
    });
    isDown = false;
    await say(brain, key, "And now?");
    const log = await brain.log(key);
    expect(compactions(log)).toHaveLength(1);
    expect(stopReasons(log).at(-1)).toBe("end_turn");
  });
});

describe("counting", () => {
  test("is asked for only where an estimate says that it is too much", async () => {
    await using brain = await createBrainWorld({ script: TALKER, tools: {}, window: WINDOW });
    await talk(brain, 8);
    expect(brain.api.counts).toEqual([]);
    await using small = await createBrainWorld({ script: TALKER, tools: {}, window: WINDOW });
    await talk(small, 10);
    expect(small.api.counts.length).toBeGreaterThan(0);
  });

  test("not being able to is no reason to stop", async () => {
    await using brain = await createBrainWorld({ script: TALKER, tools: {}, window: WINDOW });
    const { model } = brain.deps;
    const respond: typeof model.respond = (...given) => model.respond(...given);
    const key = await brain.newSession();
    for (let turn = 1; turn <= 20; turn++) {
      await brain.send(key, turnText(turn));
      await brain.run(0, {
        ...brain.deps,
        model: { respond, ...(turn % 2 === 0 && { count: async () => undefined }) },
      });
    }
    const log = await brain.log(key);
    expect(errors(log)).toEqual([]);
    expect(compactions(log).length).toBeGreaterThan(0);
  });
});

test("images that are summed up are dropped, with a mention", async () => {
  await using brain = await createBrainWorld({ script: TALKER, tools: {}, window: WINDOW });
  const key = await brain.newSession();
  const data =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  await brain.store.write(async (tx) => {
    const session = await tx.sessions.find(key);
    const source = { type: "base64" as const, media_type: "image/png", data };
    await tx.events.accept(key, [
      {
        id: "sevt_image",
        thread_id: session?.thread_id ?? "",
        cross_posted: false,
        type: "user.message",
        public: { content: [{ type: "image", source }] },
        private: {},
      },
    ]);
  });
  await brain.run();
  for (let turn = 1; turn <= 6; turn++) await say(brain, key, turnText(turn));
  const log = await brain.log(key);
  expect(JSON.stringify(compactions(log)[0]?.private.summary)).toContain(
    "Not shown any more: 1 image.",
  );
  expect(JSON.stringify(messagesOf(brain.api.requests.at(-1)))).not.toContain(data);
});

test("switched off, a prompt that is too long is the model's error, and the session still idles", async () => {
  const brain = await createBrainWorld({
    script: TALKER,
    tools: {},
    window: WINDOW,
    policies: { ...BARE_POLICIES, maxTokens: 500 },
  });
  const key = await talk(brain, 20);
  const log = await brain.log(key);
  expect(compactions(log)).toEqual([]);
  expect(errors(log).at(-1)).toMatchObject({
    type: "model_request_failed_error",
    message: expect.stringContaining("too long"),
  });
  expect(stopReasons(log).at(-1)).toBe("retries_exhausted");
  await expect(brain[Symbol.asyncDispose]()).rejects.toThrow("prompt-too-long");
});
