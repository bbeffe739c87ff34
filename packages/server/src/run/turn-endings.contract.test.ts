import {
  type Answer,
  answer,
  failing,
  overloaded,
  rateLimited,
  type Script,
  thinking,
  toolCall,
  toolResultsOf,
} from "@drover/testing";
import { describe, expect, test, vi } from "vitest";
import { BARE_POLICIES, DEFAULT_POLICIES } from "../core/harness/policies.ts";
import type { LogEvent } from "../core/session/log-event.ts";
import { ManualClock } from "../hands/fake/manual-clock.ts";
import { type BrainWorld, createBrainWorld } from "../testing/brain.ts";
import { brokenLogRules, comparableLog } from "../testing/log-rules.ts";

const CUT: Answer = {
  ...answer("I write it.", { ...toolCall("write"), inputJson: '{"content": "half of' }),
  stop_reason: "max_tokens",
};
const UNREADABLE: Answer = answer({ ...toolCall("read"), inputJson: "{file_path: a}" });

/** Everything that a weak model does wrong, one after another; a function of the conversation alone. */
const WEAK: Script = (request) => {
  const said = JSON.stringify(request.body["messages"]);
  if (!said.includes("was empty")) return answer(thinking("hm"));
  if (!said.includes("limit of tokens")) return CUT;
  if (!said.includes("not a JSON object")) return UNREADABLE;
  if (!said.includes("content of a")) return answer(toolCall("read", { file_path: "a" }));
  return answer("Done.");
};

const tools = { read: () => "content of a", write: () => "never" };

async function settled(brain: BrainWorld): Promise<void> {
  for (let processes = 0; processes < 6; processes++) {
    if ((await brain.run()).trace.length === 2) return;
  }
  throw new Error("the session does not come to rest");
}

const endsOf = (log: readonly LogEvent[]) =>
  log.flatMap((event) => (event.type === "span.model_request_end" ? [event.private] : []));
const errorsOf = (log: readonly LogEvent[]) =>
  log.flatMap((event) => (event.type === "session.error" ? [event.public.error] : []));
const stopsOf = (log: readonly LogEvent[]) =>
  log.flatMap((event) =>
    event.type === "session.status_idle" ? [event.public.stop_reason.type] : [],
  );

async function turn(script: Script, policies = DEFAULT_POLICIES) {
  const brain = await createBrainWorld({ script, tools, policies });
  const key = await brain.newSession();
  await brain.send(key, "Go.");
  await brain.run();
  const log = await brain.log(key);
  expect(brokenLogRules(log)).toEqual([]);
  return { brain, key, log };
}

describe("a weak model", async () => {
  const reference = await turn(WEAK);
  const { trace } = await (async () => {
    await using brain = await createBrainWorld({ script: WEAK, tools });
    await brain.send(await brain.newSession(), "Go.");
    return await brain.run();
  })();
  await reference.brain[Symbol.asyncDispose]();

  test("is led on, and its turn ends as any other", () => {
    expect(endsOf(reference.log).map(({ go_on }) => go_on)).toEqual([
      "empty",
      "cut_call",
      "unreadable_calls",
      undefined,
      undefined,
    ]);
    expect(errorsOf(reference.log)).toEqual([]);
    expect(stopsOf(reference.log)).toEqual(["end_turn"]);
  });

  test.each(trace.map((name, index) => ({ name, killAt: index + 1 })))(
    "whose process is killed $name (step $killAt) leaves the same log",
    async ({ killAt }) => {
      await using brain = await createBrainWorld({ script: WEAK, tools });
      const key = await brain.newSession();
      await brain.send(key, "Go.");
      await brain.run(killAt);
      await settled(brain);
      const log = await brain.log(key);
      expect(brokenLogRules(log)).toEqual([]);
      expect(comparableLog(log)).toEqual(comparableLog(reference.log));
      expect(brain.hands.executions).toHaveLength(1);
    },
  );
});

describe("a model that never gets any further", () => {
  const PAUSED: Answer = { ...answer("wait"), stop_reason: "pause_turn" };
  test.each<[string, Answer, number, string]>([
    ["is empty", answer(), DEFAULT_POLICIES.emptiesMax, "model_request_failed_error"],
    ["is cut off", CUT, DEFAULT_POLICIES.cutsMax, "model_request_failed_error"],
    ["pauses", PAUSED, DEFAULT_POLICIES.pausesMax, "tool_use_limit_reached_error"],
    ["speaks no JSON", UNREADABLE, DEFAULT_POLICIES.unreadablesMax, "model_request_failed_error"],
  ])("since it %s ends its turn with an error, and the next message works", async (...given) => {
    const [, stuck, times, type] = given;
    const { brain, key, log } = await turn((request) =>
      request.lastUserText.includes("Again.") ? answer("Better.") : stuck,
    );
    await using _ = brain;
    expect(endsOf(log)).toHaveLength(times + 1);
    expect(errorsOf(log)).toMatchObject([{ type, retry_status: { type: "exhausted" } }]);
    expect(stopsOf(log)).toEqual(["retries_exhausted"]);
    await brain.send(key, "Again.");
    await brain.run();
    expect(stopsOf(await brain.log(key)).at(-1)).toBe("end_turn");
  });

  test.each<[string, Answer]>([
    ["is empty", answer()],
    ["is cut off", CUT],
  ])("since it %s just ends its turn where that is not worked around", async (_, stuck) => {
    const { brain, log } = await turn([stuck], BARE_POLICIES);
    await using _brain = brain;
    expect(endsOf(log)).toHaveLength(1);
    expect(stopsOf(log)).toEqual(["end_turn"]);
  });
});

describe("a model that fails after the tools have run", () => {
  /** Fails so often once there are results. */
  const failingAfterTools = (times: number): Script => {
    let failures = 0;
    return (request) => {
      if (toolResultsOf(request).size === 0) return answer(toolCall("read", { file_path: "a" }));
      failures += 1;
      return failures <= times ? overloaded() : answer("Done.");
    };
  };

  test("is asked again, and no tool is run again, whatever is killed", async () => {
    const { brain, log } = await turn(failingAfterTools(2));
    await using _ = brain;
    expect(errorsOf(log).map(({ retry_status }) => retry_status.type)).toEqual([
      "retrying",
      "retrying",
    ]);
    expect(brain.hands.executions).toHaveLength(1);
    const { trace } = await brain.run();
    expect(trace).toHaveLength(2);
    for (let killAt = 1; ; killAt++) {
      await using mine = await createBrainWorld({ script: failingAfterTools(2), tools });
      const key = await mine.newSession();
      await mine.send(key, "Go.");
      const { isDead } = await mine.run(killAt);
      if (!isDead) return;
      await settled(mine);
      const continued = await mine.log(key);
      expect(brokenLogRules(continued)).toEqual([]);
      expect(stopsOf(continued)).toEqual(["end_turn"]);
      expect(mine.hands.executions).toHaveLength(1);
    }
  });

  test("for good ends the turn; the next one has the results and runs nothing again", async () => {
    const { brain, key, log } = await turn(failingAfterTools(DEFAULT_POLICIES.attemptsMax));
    await using _ = brain;
    expect(stopsOf(log)).toEqual(["retries_exhausted"]);
    await brain.send(key, "Again.");
    await brain.run();
    expect(stopsOf(await brain.log(key)).at(-1)).toBe("end_turn");
    expect(brain.hands.executions).toHaveLength(1);
  });

  test("in the middle of a second round of calls has none of them run", async () => {
    const fault = { type: "cut", afterEvents: 5 } as const;
    let broken = 0;
    const { brain, log } = await turn((request) => {
      const results = toolResultsOf(request).size;
      if (results > 0) return answer("Done.");
      broken += 1;
      const calls = [toolCall("read", { file_path: "a" }), toolCall("write", {})];
      return broken === 1 ? failing(fault, ...calls) : answer(...calls);
    });
    await using _ = brain;
    expect(brain.hands.executions).toHaveLength(2);
    expect(log.filter(({ type }) => type === "agent.tool_use")).toHaveLength(2);
  });
});

describe("the wait before another attempt", () => {
  test("is the API's own, and an interrupt ends it at once", async () => {
    const clock = new ManualClock();
    await using brain = await createBrainWorld({ script: [rateLimited(300)], tools, clock });
    const key = await brain.newSession();
    await brain.send(key, "Go.");
    const running = brain.run();
    await brain.until(key, (log) => log.some(({ type }) => type === "drover.retry_scheduled"));
    const [scheduled] = (await brain.log(key)).flatMap((event) =>
      event.type === "drover.retry_scheduled" ? [event.private] : [],
    );
    expect(scheduled).toMatchObject({ attempt: 2, at_ms: clock.now() + 300_000 });
    await brain.send(key, "interrupt");
    await running;
    const log = await brain.log(key);
    expect(brokenLogRules(log)).toEqual([]);
    expect(stopsOf(log)).toEqual(["end_turn"]);
    expect(brain.api.requests).toHaveLength(1);
  });

  test("survives a death: the next process waits for the rest of it, not anew", async () => {
    const clock = new ManualClock();
    let asked = 0;
    const script: Script = () => {
      asked += 1;
      return asked === 1 ? rateLimited(300) : answer("Done.");
    };
    await using brain = await createBrainWorld({ script, tools, clock });
    const key = await brain.newSession();
    await brain.send(key, "Go.");
    // Dies with the append that schedules the attempt: claim, load, append, request, append.
    const first = await brain.run(8);
    expect(first.isDead).toBe(true);
    await clock.advance(299_000);
    const second = brain.run();
    await vi.waitUntil(() => clock.sleepers > 0, { timeout: 30_000 });
    expect(asked).toBe(1);
    await clock.advance(1_000);
    await second;
    expect(stopsOf(await brain.log(key))).toEqual(["end_turn"]);
    expect(asked).toBe(2);
  });
});
