import { answer, failing, overloaded, text, toolCall, toolResultsOf } from "@drover/testing";
import { describe, expect, test } from "vitest";
import { fold } from "../core/session/fold.ts";
import type { LogEvent } from "../core/session/log-event.ts";
import { FOLD_VERSION } from "../core/session/state.ts";
import { LocalAnnouncements } from "../store/local-announcements.ts";
import { createBrainWorld } from "../testing/brain.ts";
import { brokenLogRules } from "../testing/log-rules.ts";

const types = (events: readonly LogEvent[]) => events.map((event) => event.type);

describe("a turn whose model fails", () => {
  test("waits, asks again and tells of it", async () => {
    await using brain = await createBrainWorld({
      script: [overloaded(), overloaded(), answer(text("Here I am."))],
      tools: {},
    });
    const key = await brain.newSession();
    await brain.send(key, "hello?");
    await brain.run();
    const log = await brain.log(key);
    expect(brokenLogRules(log)).toEqual([]);
    const attempts = log.flatMap((event) =>
      event.type === "span.model_request_start" ? [event.private.attempt] : [],
    );
    expect(attempts).toEqual([1, 2, 3]);
    expect(types(log).filter((type) => type === "session.status_rescheduled")).toHaveLength(2);
  });

  test("is given up after the last attempt, with the waiting input in the log", async () => {
    await using brain = await createBrainWorld({ script: [overloaded()], tools: {} });
    const key = await brain.newSession();
    await brain.send(key, "hello?");
    await brain.run();
    const log = await brain.log(key);
    expect(brokenLogRules(log)).toEqual([]);
    expect(log.at(-1)?.public).toMatchObject({ stop_reason: { type: "retries_exhausted" } });
    expect(brain.api.requests).toHaveLength(brain.deps.policies.attemptsMax);
  });

  test("shows a refused request at once, and the next message starts a turn", async () => {
    let asked = 0;
    await using brain = await createBrainWorld({
      script: () => {
        asked += 1;
        return asked === 1
          ? failing({ type: "status", status: 403 })
          : answer(text("Now it works."));
      },
      tools: {},
    });
    const key = await brain.newSession();
    await brain.send(key, "hello?");
    await brain.run();
    await brain.send(key, "and now?");
    await brain.run();
    const log = await brain.log(key);
    expect(brokenLogRules(log)).toEqual([]);
    const errors = log.flatMap((event) =>
      event.type === "session.error" ? [event.public.error.retry_status.type] : [],
    );
    expect(errors).toEqual(["exhausted"]);
    expect(log.at(-1)?.public).toMatchObject({ stop_reason: { type: "end_turn" } });
  });
});

describe("input that comes while a turn runs", () => {
  test("is taken along with the results of the calls", async () => {
    let send: (() => Promise<void>) | undefined;
    await using brain = await createBrainWorld({
      script: (request) =>
        toolResultsOf(request).size > 0
          ? answer(text("Both."))
          : answer(toolCall("read", { file_path: "a" })),
      tools: {
        read: async () => {
          await send?.();
          return "content";
        },
      },
    });
    const key = await brain.newSession();
    send = () => brain.send(key, "And b, please.");
    await brain.send(key, "Read a.");
    await brain.run();
    const log = await brain.log(key);
    expect(brokenLogRules(log)).toEqual([]);
    expect(types(log).filter((type) => type === "session.status_idle")).toHaveLength(1);
    expect(brain.api.requests.at(-1)?.lastUserText).toBe("And b, please.");
  });

  test("an interrupt ends a call that runs, and what waited starts the next turn", async () => {
    let send: (() => Promise<void>) | undefined;
    await using brain = await createBrainWorld({
      script: (request) =>
        request.lastUserText.includes("Something else")
          ? answer(text("Gladly."))
          : answer(toolCall("bash", { command: "sleep 1000" })),
      tools: {
        bash: async (_call, signal) => {
          await send?.();
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          return "never seen";
        },
      },
    });
    const key = await brain.newSession();
    send = () => brain.send(key, "interrupt", "Something else.");
    await brain.send(key, "Sleep.");
    await brain.run();
    const log = await brain.log(key);
    expect(brokenLogRules(log)).toEqual([]);
    const results = log.flatMap((event) =>
      event.type === "agent.tool_result" ? [event.private.reason] : [],
    );
    expect(results).toEqual(["interrupted"]);
    const idles = log.flatMap((event) =>
      event.type === "session.status_idle" ? [event.public.stop_reason.type] : [],
    );
    expect(idles).toEqual(["end_turn", "end_turn"]);
    expect(types(log).indexOf("user.interrupt")).toBeLessThan(
      types(log).indexOf("session.status_idle"),
    );
  });
});

describe("a session is never stuck", () => {
  test("when a tool's hands cannot be had, the model is told", async () => {
    await using brain = await createBrainWorld({
      script: (request) =>
        toolResultsOf(request).size > 0
          ? answer(text("No hands."))
          : answer(toolCall("read", { file_path: "a" })),
      tools: { read: () => "content" },
    });
    brain.hands.goAway();
    const key = await brain.newSession();
    await brain.send(key, "Read a.");
    await brain.run();
    const log = await brain.log(key);
    expect(brokenLogRules(log)).toEqual([]);
    expect(brain.hands.executions).toEqual([]);
  });

  test("when something in it kills its processes again and again, the turn is given up", async () => {
    await using brain = await createBrainWorld({ script: [answer(text("hi"))], tools: {} });
    const key = await brain.newSession();
    await brain.send(key, "poison");
    // Dies each time between the claim and the first append.
    for (let process = 0; process < 5; process++) await brain.run(3);
    await brain.run();
    const log = await brain.log(key);
    expect(types(log)).toEqual([
      "session.status_running",
      "session.thread_status_running",
      "session.error",
      "user.message",
      "session.thread_status_idle",
      "session.usage",
      "session.status_idle",
    ]);
    await brain.send(key, "still there?");
    await brain.run();
    expect(brokenLogRules(await brain.log(key))).toEqual([]);
  });

  test("when a turn is given up, a call of it that still runs is ended", async () => {
    const started = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    await using brain = await createBrainWorld({
      script: [answer(toolCall("bash", { command: "sleep 1000" })), answer(text("hi"))],
      tools: {
        bash: async (_call, signal) => {
          started.resolve();
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          ended.resolve();
          return "never seen";
        },
      },
    });
    const key = await brain.newSession();
    await brain.send(key, "poison");
    // The first process hangs with the call that it has sent and hears of nothing; those that follow
    // die at once.
    const deaf = new LocalAnnouncements(() => undefined);
    void brain.run(0, { ...brain.deps, announcements: deaf });
    await started.promise;
    // An interrupt that waits makes the call one that is to be cancelled, which is another action.
    await brain.send(key, "interrupt");
    for (let process = 0; process < 5; process++) await brain.run(3);
    await brain.run();
    await ended.promise;
    const results = (await brain.log(key)).flatMap((event) =>
      event.type === "agent.tool_result" ? [event.private.reason] : [],
    );
    expect(results).toEqual(["turn_failed"]);
    expect(brain.hands.settledCalls).toHaveLength(1);
  });

  test("when far more input waits than one append decides on, all of it is taken up in order", async () => {
    await using brain = await createBrainWorld({ script: [answer(text("Hello."))], tools: {} });
    const key = await brain.newSession();
    const turns = Array.from({ length: 120 }, (_, turn) => [`${turn}`, "interrupt"]).flat();
    const interrupts = Array.from({ length: 250 }, () => "interrupt");
    await brain.send(key, ...turns, ...interrupts, "hello?");
    await brain.run();
    const log = await brain.log(key);
    expect(brokenLogRules(log)).toEqual([]);
    expect(types(log)).not.toContain("session.error");
    const input = types(log).filter((type) => type.startsWith("user."));
    expect(input).toHaveLength(turns.length + interrupts.length + 1);
    expect(types(log).filter((type) => type === "session.status_idle")).toHaveLength(121);
    expect(types(log).at(-1)).toBe("session.status_idle");
    expect(brain.api.requests).toHaveLength(1);
  });

  test("when the loop itself has a bug, the turn ends with a visible error", async () => {
    await using brain = await createBrainWorld({ script: [answer(text("hi"))], tools: {} });
    let isBroken = true;
    const broken = {
      ...brain.deps,
      toolsOf: () => {
        if (isBroken) throw new Error("a bug");
        return [];
      },
    };
    const key = await brain.newSession();
    await brain.send(key, "hello");
    await brain.run(0, broken);
    const failed = await brain.log(key);
    expect(brokenLogRules(failed)).toEqual([]);
    const error = failed.find((event) => event.type === "session.error");
    expect(error?.public).toMatchObject({ error: { type: "unknown_error" } });
    expect(JSON.stringify(error?.public)).not.toContain("a bug");
    isBroken = false;
    await brain.send(key, "again");
    await brain.run(0, broken);
    expect((await brain.log(key)).at(-1)?.public).toMatchObject({
      stop_reason: { type: "end_turn" },
    });
  });
});

test("a log that cannot be folded still ends in a visible error, for every message", async () => {
  await using brain = await createBrainWorld({ script: [answer(text("hi"))], tools: {} });
  const key = await brain.newSession();
  await brain.send(key, "hello");
  const findCheckpoint = async () => ({ fold: FOLD_VERSION, seq: 0, state: "not JSON" });
  const sessions = { ...brain.store.sessions, findCheckpoint };
  const broken = { ...brain.deps, store: { ...brain.store, sessions } };
  await expect(brain.run(0, broken)).rejects.toThrow("not JSON");
  const log = await brain.log(key);
  expect(types(log)).toEqual([
    "user.message",
    "session.error",
    "session.thread_status_idle",
    "session.usage",
    "session.status_idle",
  ]);
  expect(await brain.store.events.getInbox(key)).toEqual([]);
  expect(await brain.store.sessions.find(key)).toMatchObject({ status: "idle" });
});

test("a checkpoint wakes the session to the same state as its whole log", async () => {
  await using brain = await createBrainWorld({ script: [answer(text("again"))], tools: {} });
  const key = await brain.newSession();
  for (let turn = 0; turn < 6; turn++) {
    await brain.send(key, `turn ${turn}`);
    await brain.run();
  }
  const checkpoint = await brain.store.sessions.findCheckpoint(key);
  expect(checkpoint?.seq).toBeGreaterThan(20);
  const log = await brain.log(key);
  const whole = fold(log.filter((event) => event.seq <= (checkpoint?.seq ?? 0)));
  expect(JSON.parse(checkpoint?.state ?? "")).toEqual(whole);
});
