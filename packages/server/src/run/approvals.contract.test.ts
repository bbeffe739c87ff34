import type { ClientEventParams } from "@drover/api";
import { answer, type Script, text, toolCall, toolResultsOf } from "@drover/testing";
import { describe, expect, test } from "vitest";
import { archiveSession } from "../app/sessions.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { LogEvent } from "../core/session/log-event.ts";
import { allow, answerAll, callIds, deny, result } from "../testing/answers.ts";
import { type BrainWorld, createBrainWorld } from "../testing/brain.ts";
import { brokenLogRules, comparableLog } from "../testing/log-rules.ts";
import { Mortal, mortalStore } from "../testing/mortal.ts";
import { testSession } from "../testing/session.ts";
import type { DriveDeps } from "./deps.ts";

/** Three calls that ask, run and wait for the client; then an answer that says what came of them. */
const ASKING: Script = (request) => {
  const results = toolResultsOf(request);
  if (results.size > 0) return answer(text("All are done."));
  return answer(
    text("Three things."),
    toolCall("ask_write", { n: 1 }),
    toolCall("read", { n: 2 }),
    toolCall("client_weather", { n: 3 }),
    toolCall("ask_delete", { n: 4 }),
  );
};
const OFFERED = ["ask_write", "ask_delete", "read", "client_weather"];

const world = (script: Script = ASKING) =>
  createBrainWorld({ script, offered: OFFERED, tools: { "*": ({ name }) => `${name} ran` } });

async function started(brain: BrainWorld, message = "Go."): Promise<SessionKey> {
  const key = await brain.newSession();
  await brain.send(key, message);
  await brain.run();
  return key;
}

function idles(log: readonly LogEvent[]) {
  return log.flatMap((event) =>
    event.type === "session.status_idle" ? [event.public.stop_reason] : [],
  );
}

function runs(brain: BrainWorld): readonly string[] {
  return brain.hands.executions.map(({ name }) => name).toSorted();
}

const types = (log: readonly LogEvent[]) => log.map(({ type }) => type);

describe("a session that waits for its client", () => {
  test("is idle with what it waits for, after all else was run, and nobody holds it", async () => {
    await using brain = await world();
    const key = await started(brain);
    const log = await brain.log(key);
    const [write, , weather, del] = callIds(log);
    const stop_reason = { type: "requires_action", event_ids: [write, weather, del] };
    expect(log.slice(-3).map((event) => [event.type, event.public])).toMatchObject([
      ["session.thread_status_idle", { stop_reason, stop_details: null }],
      ["session.usage", {}],
      ["session.status_idle", { stop_reason, stop_details: null }],
    ]);
    expect(runs(brain)).toEqual(["read"]);
    expect(await brain.store.sessions.find(key)).toMatchObject({ status: "idle" });
    expect((await brain.run()).trace).toHaveLength(2);
  });

  test("says what is left after each answer, and goes on after the last", async () => {
    await using brain = await world();
    const key = await started(brain);
    const [write = "", , weather = "", del = ""] = callIds(await brain.log(key));
    await brain.post(key, result(weather));
    expect(await brain.store.sessions.find(key)).toMatchObject({ status: "running" });
    await brain.run();
    expect(idles(await brain.log(key)).at(-1)).toEqual({
      type: "requires_action",
      event_ids: [write, del],
    });
    await brain.post(key, deny(del, "Not on a Sunday."));
    await brain.run();
    expect(idles(await brain.log(key)).at(-1)).toEqual({
      type: "requires_action",
      event_ids: [write],
    });
    await brain.post(key, allow(write));
    await brain.run();
    const log = await brain.log(key);
    expect(idles(log).at(-1)).toEqual({ type: "end_turn" });
    expect(brokenLogRules(log)).toEqual([]);
    expect(runs(brain)).toEqual(["ask_write", "read"]);
    const told = JSON.stringify(brain.api.requests.at(-1)?.body["messages"]);
    for (const said of ["ask_write ran", "read ran", "sunny", "Not on a Sunday."]) {
      expect(told).toContain(said);
    }
    // A partial answer that needs no work shows no running in between.
    const first = types(log).indexOf("user.custom_tool_result");
    expect(types(log).slice(first, first + 4)).toEqual([
      "user.custom_tool_result",
      "session.thread_status_idle",
      "session.usage",
      "session.status_idle",
    ]);
  });

  test("leaves messages to wait until it has its answers, and holds nothing meanwhile", async () => {
    await using brain = await world();
    const key = await started(brain);
    const before = (await brain.log(key)).length;
    await brain.post(key, { type: "user.message", content: [{ type: "text", text: "And?" }] });
    expect(await brain.store.sessions.find(key)).toMatchObject({ status: "idle" });
    await brain.run();
    expect(await brain.log(key)).toHaveLength(before);
    expect((await brain.run()).trace).toHaveLength(2);
    const [write = "", , weather = "", del = ""] = callIds(await brain.log(key));
    await brain.post(key, allow(write), result(weather), deny(del));
    await brain.run();
    const log = await brain.log(key);
    expect(types(log).filter((type) => type === "user.message")).toHaveLength(2);
    expect(await brain.store.events.getInbox(key)).toEqual([]);
    const last = JSON.stringify(brain.api.requests.at(-1)?.body["messages"]);
    expect(last.indexOf("And?")).toBeGreaterThan(last.indexOf("sunny"));
  });

  test("is at rest for who wants to archive it, whatever waits with it, unless it is interrupted", async () => {
    await using brain = await world();
    const archive = (key: SessionKey) => brain.store.write((tx) => archiveSession(tx, key));
    const key = await started(brain);
    await brain.send(key, "And?");
    const other = await started(brain);
    await brain.post(other, { type: "user.interrupt" });
    await expect(archive(other)).rejects.toThrow(/is running/);
    expect(await archive(key)).toMatchObject({ status: "terminated" });
    const [write = ""] = callIds(await brain.log(key));
    await expect(brain.post(key, allow(write))).rejects.toThrow(/is archived/);
    await brain.run();
    expect((await brain.log(key)).at(-1)?.type).toBe("session.status_terminated");
  });

  test("does not run what it allows of a tool that was taken from it meanwhile", async () => {
    await using brain = await world();
    const key = await started(brain);
    const [write = "", , weather = "", del = ""] = callIds(await brain.log(key));
    await brain.post(key, allow(write), result(weather), allow(del));
    const toolsOf = () =>
      brain.deps.toolsOf(testSession()).filter(({ definition }) => {
        return definition.name !== "ask_write";
      });
    await brain.run(0, { ...brain.deps, toolsOf });
    expect(runs(brain)).toEqual(["ask_delete", "read"]);
    const log = await brain.log(key);
    const answered = log.find(
      (event) => event.type === "agent.tool_result" && event.public.tool_use_id === write,
    );
    expect(answered).toMatchObject({
      public: { is_error: true },
      private: { reason: "unavailable" },
    });
    expect(brokenLogRules(log)).toEqual([]);
  });

  test("an interrupt answers what waits, and ends the turn without asking the model", async () => {
    await using brain = await world();
    const key = await started(brain);
    const asked = brain.api.requests.length;
    await brain.post(key, { type: "user.interrupt" });
    await brain.run();
    const log = await brain.log(key);
    expect(types(log).slice(-7)).toEqual([
      "agent.tool_result",
      "user.custom_tool_result",
      "agent.tool_result",
      "user.interrupt",
      "session.thread_status_idle",
      "session.usage",
      "session.status_idle",
    ]);
    expect(log.at(-1)?.public).toMatchObject({ stop_reason: { type: "end_turn" } });
    expect(brokenLogRules(log)).toEqual([]);
    expect(brain.api.requests).toHaveLength(asked);
    const [write = "", , weather = ""] = callIds(log);
    await expect(brain.post(key, allow(write))).rejects.toThrow(/no tool use/);
    await expect(brain.post(key, result(weather))).rejects.toThrow(/no tool use/);
    await brain.send(key, "Again.");
    await brain.run();
    expect(idles(await brain.log(key)).at(-1)).toEqual({ type: "end_turn" });
  });
});

describe("answers", () => {
  test("are refused whole if one of them is wrong", async () => {
    await using brain = await world();
    const key = await started(brain);
    const [write = "", read = "", weather = ""] = callIds(await brain.log(key));
    const before = await brain.log(key);
    const wrong: readonly (readonly ClientEventParams[])[] = [
      [allow("sevt_nobody")],
      [allow(read)],
      [allow(weather)],
      [result(write)],
      [allow(write), allow(write)],
      [allow(write), deny(write)],
      [result(weather), result("sevt_nobody")],
    ];
    for (const events of wrong) {
      await expect(brain.post(key, ...events)).rejects.toThrow(/^events\.\d\.\w+: no tool use/);
    }
    expect(await brain.log(key)).toEqual(before);
    await brain.post(key, allow(write), result(weather));
    await expect(brain.post(key, allow(write))).rejects.toThrow(/no tool use/);
    await expect(brain.post(key, result(weather))).rejects.toThrow(/no tool use/);
  });

  test("of two that race for one call, one counts", async () => {
    await using brain = await world();
    const key = await started(brain);
    const [write = ""] = callIds(await brain.log(key));
    const posts = await Promise.allSettled([
      brain.post(key, allow(write)),
      brain.post(key, deny(write)),
    ]);
    expect(posts.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  });

  test("may come before the session is idle", async () => {
    const gate = Promise.withResolvers<void>();
    await using brain = await createBrainWorld({
      script: ASKING,
      offered: OFFERED,
      tools: {
        read: async () => {
          await gate.promise;
          return "read ran";
        },
        "*": ({ name }) => `${name} ran`,
      },
    });
    const key = await brain.newSession();
    await brain.send(key, "Go.");
    const running = brain.run();
    await brain.until(key, (log) => callIds(log).length === 4);
    const [write = "", , weather = "", del = ""] = callIds(await brain.log(key));
    await brain.post(key, allow(write));
    await brain.post(key, result(weather), deny(del));
    gate.resolve();
    await running;
    const log = await brain.log(key);
    expect(idles(log)).toEqual([{ type: "end_turn" }]);
    expect(runs(brain)).toEqual(["ask_write", "read"]);
    expect(brokenLogRules(log)).toEqual([]);
  });
});

describe("an answer that comes between a decision and its append", () => {
  /** A driver before whose write the client posts, once the log is as wanted. */
  const posting = (
    brain: BrainWorld,
    key: SessionKey,
    post: (log: readonly LogEvent[]) => Promise<void> | undefined,
  ) => {
    let isPosted = false;
    const store: DriveDeps["store"] = {
      ...mortalStore(brain.store, new Mortal(0)),
      write: async (work) => {
        const posted = isPosted ? undefined : post(await brain.log(key));
        isPosted ||= posted !== undefined;
        await posted;
        return await brain.store.write(work);
      },
    };
    return { ...brain.deps, store };
  };
  const isStarted = ({ type }: LogEvent) => type === "drover.call_started";

  test("is not waited for", async () => {
    await using brain = await world((request) =>
      toolResultsOf(request).size > 0
        ? answer(text("Done."))
        : answer(toolCall("read"), toolCall("client_weather")),
    );
    const key = await brain.newSession();
    await brain.send(key, "Go.");
    const deps = posting(brain, key, (log) =>
      log.some(isStarted) ? brain.post(key, result(callIds(log)[1] ?? "")) : undefined,
    );
    await brain.run(0, deps);
    const log = await brain.log(key);
    expect(types(log)).toContain("user.custom_tool_result");
    expect(idles(log)).toEqual([{ type: "end_turn" }]);
    expect(brokenLogRules(log)).toEqual([]);
  });

  test("is not answered once more for an interrupt", async () => {
    await using brain = await world();
    const key = await started(brain);
    const [, , weather = ""] = callIds(await brain.log(key));
    await brain.post(key, { type: "user.interrupt" });
    let writes = 0;
    const deps = posting(brain, key, () => {
      writes += 1;
      // After the leases are taken over and the session is claimed.
      return writes === 3 ? brain.post(key, result(weather)) : undefined;
    });
    await brain.run(0, deps);
    const log = await brain.log(key);
    const results = log.filter(({ type }) => type === "user.custom_tool_result");
    expect(results.map(({ private: origin }) => origin)).toEqual([{}]);
    expect(idles(log).at(-1)).toEqual({ type: "end_turn" });
    expect(brokenLogRules(log)).toEqual([]);
  });
});

test("shell calls keep their order, whatever order they are allowed in, and hold up no other tool", async () => {
  await using brain = await world((request) =>
    toolResultsOf(request).size > 0
      ? answer(text("Done."))
      : answer(
          toolCall("bash", { n: 1 }),
          toolCall("bash", { n: 2 }),
          toolCall("ask_write", { n: 3 }),
        ),
  );
  const definition = {
    name: "bash",
    description: "a shell",
    input_schema: { type: "object" },
  } as const;
  const bash = { runBy: "hands", policy: "always_ask", definition } as const;
  const asking = {
    ...brain.deps,
    toolsOf: () => [bash, ...brain.deps.toolsOf(testSession())],
  };
  const key = await brain.newSession();
  await brain.send(key, "Go.");
  await brain.run(0, asking);
  const [first = "", second = "", write = ""] = callIds(await brain.log(key));
  await brain.post(key, allow(second), allow(write));
  await brain.run(0, asking);
  expect(brain.hands.executions.map(({ callId }) => callId)).toEqual([write]);
  expect(idles(await brain.log(key)).at(-1)).toEqual({
    type: "requires_action",
    event_ids: [first],
  });
  await brain.post(key, allow(first));
  await brain.run(0, asking);
  expect(brain.hands.executions.map(({ callId }) => callId)).toEqual([write, first, second]);
  expect(idles(await brain.log(key)).at(-1)).toEqual({ type: "end_turn" });
});

/** One process after another, the first of which dies, until the turn is over. */
async function settled(brain: BrainWorld, key: SessionKey, killAt: number): Promise<string[]> {
  const trace: string[] = [];
  for (let processes = 0; processes < 10; processes++) {
    const left = killAt - trace.length;
    const run = await brain.run(Math.max(left, 0));
    trace.push(...run.trace);
    if (run.isDead) continue;
    if (idles(await brain.log(key)).at(-1)?.type === "end_turn") return trace;
    await answerAll(brain, key);
  }
  throw new Error("the session does not come to rest");
}

describe("a process dies, another goes on", async () => {
  const play = async (killAt: number) => {
    await using brain = await world();
    const key = await brain.newSession();
    await brain.send(key, "Go.");
    const trace = await settled(brain, key, killAt);
    return { log: await brain.log(key), trace, runs: runs(brain) };
  };
  const reference = await play(0);
  const steps = reference.trace.map((name, index) => ({ name, killAt: index + 1 }));

  test("there are steps before and after the answers", () => {
    expect(steps.length).toBeGreaterThan(30);
    expect(idles(reference.log).map(({ type }) => type)).toEqual(["requires_action", "end_turn"]);
  });

  test.each(steps)("killed $name (step $killAt), the log is the same", async ({ killAt }) => {
    const killed = await play(killAt);
    expect(brokenLogRules(killed.log)).toEqual([]);
    expect(comparableLog(killed.log)).toEqual(comparableLog(reference.log));
    expect(killed.runs).toEqual(["ask_write", "read"]);
  });
});
