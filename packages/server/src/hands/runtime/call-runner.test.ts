import { expect, test } from "vitest";
import type { CallOutcome, HandCall } from "../../core/ports/hands.ts";
import { SandboxGoneError, SandboxUnavailableError } from "../../core/ports/sandbox.ts";
import type { SessionCredentials } from "../../core/ports/session-credentials.ts";
import { MemoryBlobs } from "../../store/memory-blobs.ts";
import { HandNotes } from "../checkpoints/hand-notes.ts";
import { makeCall } from "../fake/make-call.ts";
import { ManualClock } from "../fake/manual-clock.ts";
import { ScriptedCredentials } from "../fake/scripted-credentials.ts";
import { ScriptedProvider } from "../fake/scripted-provider.ts";
import { testCommittedOutputs } from "../fake/test-committed-outputs.ts";
import { CallRecord } from "../journal/call-record.ts";
import { OutputCollector } from "../outputs/output-collector.ts";
import { OUTPUTS_FOLDER } from "../outputs/output-file.ts";
import { OutputLedger } from "../outputs/output-ledger.ts";
import { OutputWatch } from "../outputs/output-watch.ts";
import { CallRunner } from "./call-runner.ts";
import { LeftBehind } from "./left-behind.ts";
import type { RunOutside, RunTool } from "./run-tool.ts";
import { SandboxKeeper } from "./sandbox-keeper.ts";

const LIMITS = { callMs: 600_000, bashCallMs: 3_600_000, stopGraceMs: 10_000, collectMs: 60_000 };

test("gives what the tool gave, its running output and the files it left", async () => {
  const world = open(async (_sandbox, { name, input }, onOutput) => {
    onOutput(Buffer.from("running"));
    world.provider.sandboxes[0]?.put(`${OUTPUTS_FOLDER}/report.md`, "# Report");
    return answer(`${name} ${JSON.stringify(input)}`);
  });
  const record = world.record();
  expect(await world.runner.run(record)).toEqual({
    type: "result",
    content: [{ type: "text", text: 'bash {"command":"true"}' }],
    is_error: false,
    outputs: [],
    cancelled: false,
  });
  expect(world.outputs()).toEqual(["report.md"]);
  expect(Buffer.from(record.output.read(0, 100).bytes).toString()).toBe("running");
});

test("gives no secret that was given out for the session, neither in a result nor while it runs", async () => {
  const credentials = new ScriptedCredentials();
  credentials.set(
    { type: "repository", resource_id: "sesrsc_1", url: "https://git.test/a/b" },
    "ghp_very_secret",
  );
  const data = Buffer.from("is ghp_very_secret.").toString("base64");
  const world = open(
    async (_sandbox, _call, onOutput) => {
      const use = { id: "sesrsc_1", host: "git.test", purpose: "git" } as const;
      onOutput(Buffer.from("the token ghp_very"));
      await credentials.release(use);
      onOutput(Buffer.from(" is ghp_very"));
      onOutput(Buffer.from("_secret and gh"));
      return {
        content: [
          { type: "text", text: "it is ghp_very_secret" },
          { type: "image", source: { type: "base64", data, media_type: "image/png" } },
          {
            type: "search_result",
            source: "https://a.test/?k=ghp_very_secret",
            title: "ghp_very_secret",
            content: [{ type: "text", text: "ghp_very_secret" }],
            citations: { enabled: false },
          },
        ],
        is_error: false,
      };
    },
    async () => answer("ghp_very_secret"),
    credentials,
  );
  const granted = { grant: "grant_1" };
  const record = world.record("sevt_1", granted);
  const outcome = await world.runner.run(record);
  const stars = "*".repeat(15);
  expect(outcome).toMatchObject({
    content: [
      { text: `it is ${stars}` },
      { source: { data: expect.stringMatching(/^aXMg\*{19,20}/) } },
      { source: `https://a.test/?k=${stars}`, title: stars, content: [{ text: stars }] },
    ],
  });
  const { bytes } = record.output.read(0, 100);
  expect(Buffer.from(bytes).toString()).toBe(`the token ghp_very is ${stars} and gh`);
  const elsewhere = await world.runner.run(
    world.record("sevt_2", { ...granted, name: "web_search" }),
  );
  expect(textOf(elsewhere)).toBe(stars);
});

test("takes what is left while the tool runs, and what a dead sandbox left from inside the next one", async () => {
  const world = open(async () => {
    const [made] = world.provider.sandboxes;
    await turn();
    made?.put(`${OUTPUTS_FOLDER}/early`, "1");
    await world.clock.advance(1_000);
    await world.clock.advance(1_000);
    await expect.poll(world.outputs).toEqual(["early"]);
    world.provider.onMade = (next) => next.put(`${OUTPUTS_FOLDER}/late`, "2");
    made?.die("killed by signal 9");
    throw new SandboxGoneError("killed by signal 9");
  });
  const outcome = await world.runner.run(world.record());
  expect(textOf(outcome)).toMatch(/^The sandbox died while bash ran/);
  expect(world.outputs()).toEqual(["early", "late"]);
  expect(world.provider.sandboxes).toHaveLength(2);
});

test("tells with a result whom the sandbox spoke to, also of one that died meanwhile", async () => {
  const decision = { host: "a.test", port: 443, verdict: "allowed", reason: null } as const;
  const told = { ...decision, connections: 1, bytes_up: 2, bytes_down: 3, ms: 4 };
  const world = open(async (_sandbox, { name }) => {
    const sandbox = world.provider.sandboxes[0];
    sandbox?.egress.push(told);
    if (sandbox?.files.size === 0) return answer(name);
    sandbox?.die("killed by signal 9");
    throw new SandboxGoneError("killed by signal 9");
  });
  expect(await world.runner.run(world.record())).toMatchObject({ egress: [told] });
  world.provider.sandboxes[0]?.put("/x", "");
  const outcome = await world.runner.run(world.record("sevt_2"));
  expect(outcome).toMatchObject({ is_error: true, egress: [told] });
});

test("says that the outcome is unknown when the sandbox dies under a call; the next gets a new one", async () => {
  const world = open(async (sandbox) => {
    if (sandbox !== world.provider.sandboxes[0]) return answer("again");
    world.provider.sandboxes[0]?.die("killed by signal 9");
    throw new SandboxGoneError("killed by signal 9");
  });
  const outcome = await world.runner.run(world.record());
  expect(textOf(outcome)).toMatch(
    /^The sandbox died while bash ran \(killed by signal 9\): the outcome is unknown/,
  );
  expect(outcome).toMatchObject({ is_error: true, cancelled: false });
  expect(textOf(await world.runner.run(world.record("sevt_2")))).toBe("again");
});

test("says so too when the tool does not notice that the sandbox died", async () => {
  const world = open(() => new Promise(() => {}));
  const running = world.runner.run(world.record());
  await world.sandboxMade();
  world.provider.sandboxes[0]?.die("killed");
  await turn();
  await world.clock.advance(LIMITS.stopGraceMs);
  expect(textOf(await running)).toMatch(/^The sandbox died while bash ran \(killed\)/);
});

test("does not run a call in a new sandbox before it told that the last one died unused", async () => {
  const world = open(async () => answer("done"));
  await world.runner.run(world.record());
  world.provider.sandboxes[0]?.die("out of memory");
  await turn();
  const told = await world.runner.run(world.record("sevt_2"));
  expect(textOf(told)).toMatch(/^The call was not run: the sandbox has died .*out of memory/);
  expect(told).toMatchObject({ is_error: true });
  expect(textOf(await world.runner.run(world.record("sevt_3")))).toBe("done");
});

test("ends a cancelled call with what its tool still gives", async () => {
  const world = open(async (_sandbox, _call, _onOutput, signal) => {
    await untilAborted(signal);
    return answer("partial");
  });
  const record = world.record();
  const running = world.runner.run(record);
  await world.sandboxMade();
  record.requestCancel();
  expect(await running).toMatchObject({ is_error: true, cancelled: true });
  expect(textOf(await running)).toBe("partial");
  expect(world.provider.sandboxes[0]?.isDead).toBe(false);
});

test("ends the sandbox of a cancelled call whose tool does not stop", async () => {
  const world = open(() => new Promise(() => {}));
  const record = world.record();
  const running = world.runner.run(record);
  await world.sandboxMade();
  record.requestCancel();
  await turn();
  await world.clock.advance(LIMITS.stopGraceMs);
  expect(await running).toMatchObject({ is_error: true, cancelled: true });
  expect(world.provider.sandboxes[0]?.isDead).toBe(true);
});

test("ends a call at its ceiling, with no one asking", async () => {
  const world = open(async (_sandbox, _call, _onOutput, signal) => {
    await untilAborted(signal);
    return answer("partial");
  });
  const running = world.runner.run(world.record());
  await world.sandboxMade();
  await world.clock.advance(LIMITS.bashCallMs);
  const text = "The call was ended after 3600 s of running bash, the most a call may take.";
  expect(await running).toMatchObject({
    content: [
      { type: "text", text: "partial" },
      { type: "text", text },
    ],
    is_error: true,
    cancelled: false,
  });
});

test("gives tools that have no time-out of their own less time", async () => {
  const world = open(async (_sandbox, _call, _onOutput, signal) => {
    await untilAborted(signal);
    return answer("partial");
  });
  const running = world.runner.run(new CallRecord(makeCall({ name: "grep" }), 1_024));
  await world.sandboxMade();
  await world.clock.advance(LIMITS.callMs);
  expect(await running).toMatchObject({ is_error: true, cancelled: false });
});

test("ends the sandbox of a call at its ceiling when its tool does not stop", async () => {
  const world = open(() => new Promise(() => {}));
  const running = world.runner.run(world.record());
  await world.sandboxMade();
  await world.clock.advance(LIMITS.bashCallMs);
  await turn();
  await world.clock.advance(LIMITS.stopGraceMs);
  expect(textOf(await running)).toMatch(/^The call was ended after 3600 s of running bash/);
  expect(world.provider.sandboxes[0]?.isDead).toBe(true);
});

test("cancels a call that waits for its sandbox", async () => {
  const world = open(async () => answer("never"));
  world.provider.onProvision = (_request, signal) => untilAborted(signal);
  const record = world.record();
  const running = world.runner.run(record);
  await turn();
  record.requestCancel();
  expect(await running).toMatchObject({ is_error: true, cancelled: true });
  expect(textOf(await running)).toBe("The call was cancelled before it began.");
});

test("tells why no sandbox can be had", async () => {
  const world = open(async () => answer("never"));
  world.provider.onProvision = () =>
    Promise.reject(new SandboxUnavailableError("bwrap is missing"));
  const outcome = await world.runner.run(world.record());
  expect(textOf(outcome)).toMatch(/^The call was not run.*bwrap is missing/);
  expect(outcome).toMatchObject({ is_error: true });
});

test("hides what a bug says", async () => {
  const world = open(() => Promise.reject(new Error("secret detail")));
  const outcome = await world.runner.run(world.record());
  expect(textOf(outcome)).toBe("bash failed by an internal error of the hands.");
  expect(world.reports).toEqual(["bug"]);
});

test("gives the answer without outputs when they cannot be taken in time", async () => {
  const world = open(async () => answer("done"));
  const running = world.runner.run(world.record());
  await world.sandboxMade();
  const [sandbox] = world.provider.sandboxes;
  if (sandbox) sandbox.list = () => new Promise(() => {});
  await turn();
  await world.clock.advance(LIMITS.collectMs);
  expect(textOf(await running)).toBe("done");
});

test("tells the next call of a sandbox that died after it had answered the last", async () => {
  const world = open(async (sandbox) => {
    const [first] = world.provider.sandboxes;
    const list = sandbox.list.bind(sandbox);
    sandbox.list = (path, limit) => {
      if (sandbox === first) first.die("killed");
      return list(path, limit);
    };
    return answer("done");
  });
  expect(textOf(await world.runner.run(world.record()))).toBe("done");
  await turn();
  expect(textOf(await world.runner.run(world.record("sevt_2")))).toMatch(/has died .*killed/);
  expect(textOf(await world.runner.run(world.record("sevt_3")))).toBe("done");
});

test("a tool that needs no sandbox makes none, is given its settings, and is told to stop", async () => {
  const settings = { type: "web_search", user_location: null } as const;
  const given: unknown[] = [];
  let isStopped = false;
  const world = open(neverRun, async (call, signal) => {
    given.push(call.settings);
    if (call.input["query"] === "quick") return answer("found");
    await untilAborted(signal);
    isStopped = true;
    return answer("too late");
  });
  const call = (callId: string, query: string) => {
    const made = makeCall({ callId, name: "web_search", input: { query } });
    return new CallRecord({ ...made, settings }, 1_024);
  };
  expect(textOf(await world.runner.run(call("sevt_1", "quick")))).toBe("found");
  const slow = call("sevt_2", "slow");
  const cancelled = world.runner.run(slow);
  slow.requestCancel();
  expect(await cancelled).toMatchObject({ type: "result", is_error: true, cancelled: true });
  const endless = world.runner.run(call("sevt_3", "endless"));
  await world.clock.advance(LIMITS.callMs);
  expect(textOf(await endless)).toMatch(/^The call was ended after 600 s of running web_search/);
  expect([given, isStopped]).toEqual([[settings, settings, settings], true]);
  expect(world.provider.sandboxes).toEqual([]);
});

function neverRun(): never {
  throw new Error("no tool of a sandbox is called");
}

const NO_SERVER: RunOutside = async () => ({ content: [], is_error: true });

function open(runTool: RunTool, outsideRun?: RunOutside, credentials?: SessionCredentials) {
  const outside = new Map(outsideRun && [["web_search", outsideRun]]);
  const provider = new ScriptedProvider();
  const clock = new ManualClock();
  const reports: string[] = [];
  const report = (event: string) => {
    if (event === "bug") reports.push(event);
  };
  const keeper = new SandboxKeeper({
    provider,
    clock,
    report,
    sandboxesMax: 10,
    provisionDeadlineMs: 30_000,
    installDeadlineMs: 600_000,
    idleMs: 60_000,
  });
  const ledger = new OutputLedger(0);
  const collector = new OutputCollector({
    ...{ blobs: new MemoryBlobs(), ledger, report },
    committed: testCommittedOutputs().reopen(),
  });
  const watch = new OutputWatch({ collector, clock });
  const notes = new HandNotes({
    ...{ handsFolder: "/no/hands/here", clock, report },
    discard: (handId) => keeper.dispose(handId),
  });
  const { collectMs } = LIMITS;
  const left = new LeftBehind({ keeper, notes, collector, clock, report, collectMs });
  const runner = new CallRunner({
    ...{ keeper, notes, left, watch, runTool, outside, clock, report },
    mcp: outsideRun ?? NO_SERVER,
    ...(credentials && { credentials: { of: () => credentials } }),
    limits: LIMITS,
  });
  return {
    provider,
    clock,
    reports,
    runner,
    record: (callId = "sevt_1", changes: Partial<HandCall> = {}) =>
      new CallRecord(makeCall({ callId, ...changes }), 1_024),
    /** The paths that wait to be committed. */
    outputs: () => ledger.waiting("hand_1").map(({ path }) => path),
    sandboxMade: () => expect.poll(() => provider.sandboxes.length).toBe(1),
  };
}

function answer(text: string) {
  return { content: [{ type: "text" as const, text }], is_error: false };
}

function textOf(outcome: CallOutcome): string {
  const block = outcome.type === "result" ? outcome.content[0] : undefined;
  return block?.type === "text" ? block.text : `${outcome.type} without text`;
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
