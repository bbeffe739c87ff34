import type { ClientEventParams } from "@drover/api";
import { answer, judgedCallOf, type Script, text, toolCall, toolResultsOf } from "@drover/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { LogEvent } from "../core/session/log-event.ts";
import { type BrainWorld, createBrainWorld } from "../testing/brain.ts";
import { brokenLogRules } from "../testing/log-rules.ts";

/** Names of tools as `testTool` has them; `auto_` ones are judged by what follows. */
const TOOLS = [
  "read",
  "bash",
  "ask_write",
  "ask_delete",
  "client_weather",
  "auto_allow",
  "auto_ask",
  "auto_deny",
  "forbidden",
];

/** A message that is a list of tools makes the model call them, in one response. */
const SCRIPT: Script = (request) => {
  const judged = judgedCallOf(request);
  if (judged !== undefined) {
    return answer(JSON.stringify({ verdict: judged.tool.slice("auto_".length) }));
  }
  if (toolResultsOf(request).size > 0) return answer(text("With results."));
  const list = request.lastUserText.split("\n").find((line) => line.startsWith("["));
  if (list === undefined) return answer(text("Heard."));
  const names: readonly string[] = JSON.parse(list);
  return answer(text("Calling."), ...names.map((name, place) => toolCall(name, { place })));
};

type Command =
  /** A process claims the session and drives it, until it is done or dies at this step. */
  | { readonly type: "run"; readonly killAt: number }
  /** The client answers some of what waits in one request, in any order. */
  | { readonly type: "answer"; readonly picks: readonly number[]; readonly allows: boolean }
  /** The same at the moment when a process runs. */
  | { readonly type: "answer_meanwhile"; readonly pick: number; readonly killAt: number }
  /** The client answers something that is answered already. */
  | { readonly type: "repeat"; readonly pick: number }
  | { readonly type: "message" }
  | { readonly type: "interrupt" };

// Later than the first append: a turn whose processes die again and again before it is given up.
const killAt = fc.oneof(fc.constant(0), fc.integer({ min: 5, max: 28 }));
const commands: fc.Arbitrary<readonly Command[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ type: fc.constant("run" as const), killAt }) },
    {
      weight: 5,
      arbitrary: fc.record({
        type: fc.constant("answer" as const),
        picks: fc.array(fc.nat({ max: 7 }), { minLength: 1, maxLength: 4 }),
        allows: fc.boolean(),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        type: fc.constant("answer_meanwhile" as const),
        pick: fc.nat({ max: 7 }),
        killAt,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ type: fc.constant("repeat" as const), pick: fc.nat({ max: 7 }) }),
    },
    { weight: 1, arbitrary: fc.constant({ type: "message" as const }) },
    { weight: 1, arbitrary: fc.constant({ type: "interrupt" as const }) },
  ),
  { maxLength: 14 },
);

interface Call {
  readonly id: string;
  readonly isClients: boolean;
  /** Of a call that asks: what the user said. */
  readonly said: "allow" | "deny" | undefined;
  readonly permission: string;
  readonly results: number;
}

/** Every call of the log with what became of it, made out without the fold. */
function callsOf(log: readonly LogEvent[]): readonly Call[] {
  return log.flatMap((use): Call[] => {
    if (use.type !== "agent.tool_use" && use.type !== "agent.custom_tool_use") return [];
    const { id } = use;
    const confirmation = log.find(
      (event) => event.type === "user.tool_confirmation" && event.public.tool_use_id === id,
    );
    const results = log.filter(
      (event) =>
        (event.type === "agent.tool_result" && event.public.tool_use_id === id) ||
        (event.type === "user.custom_tool_result" && event.public.custom_tool_use_id === id),
    );
    return [
      {
        id,
        isClients: use.type === "agent.custom_tool_use",
        said:
          confirmation?.type === "user.tool_confirmation" ? confirmation.public.result : undefined,
        permission: use.type === "agent.tool_use" ? (use.public.evaluated_permission ?? "") : "",
        results: results.length,
      },
    ];
  });
}

function isWaiting({ isClients, permission, said, results }: Call): boolean {
  if (results > 0) return false;
  return isClients || (permission === "ask" && said === undefined);
}

function answerTo({ id, isClients }: Call, allows: boolean): ClientEventParams {
  if (isClients) return { type: "user.custom_tool_result", custom_tool_use_id: id };
  return { type: "user.tool_confirmation", tool_use_id: id, result: allows ? "allow" : "deny" };
}

/** What the session was last said to wait for, each time compared with what it did wait for. */
function wrongStops(log: readonly LogEvent[]): readonly string[] {
  return log.flatMap((event, index) => {
    if (event.type !== "session.status_idle") return [];
    const { stop_reason: reason } = event.public;
    const waiting = callsOf(log.slice(0, index))
      .filter(isWaiting)
      .map(({ id }) => id);
    const told = reason.type === "requires_action" ? reason.event_ids : [];
    return JSON.stringify(told) === JSON.stringify(waiting)
      ? []
      : [`event ${event.seq} tells of ${told}, and ${waiting} waits`];
  });
}

class Client {
  readonly #brain: BrainWorld;
  readonly #key: SessionKey;
  interrupts = 0;
  messages = 1;

  constructor(brain: BrainWorld, key: SessionKey) {
    this.#brain = brain;
    this.#key = key;
  }

  async do(command: Command): Promise<void> {
    const brain = this.#brain;
    const calls = callsOf(await brain.log(this.#key));
    const waiting = calls.filter(isWaiting);
    const at = (pick: number) => waiting[pick % waiting.length];
    switch (command.type) {
      case "run":
        await brain.run(command.killAt);
        return;
      case "answer": {
        const picked = new Set(command.picks.flatMap((pick) => at(pick) ?? []));
        if (picked.size === 0) return;
        const events = [...picked].map((call) => answerTo(call, command.allows));
        await brain.post(this.#key, ...events);
        return;
      }
      case "answer_meanwhile": {
        const running = brain.run(command.killAt);
        const call = at(command.pick);
        const sent = call === undefined ? undefined : brain.post(this.#key, answerTo(call, true));
        // An interrupt that is taken up meanwhile answers in the client's place.
        if (this.interrupts === 0) await sent;
        else await sent?.catch(() => undefined);
        await running;
        return;
      }
      case "repeat": {
        const answered = calls.filter((call) => !isWaiting(call));
        const call = answered[command.pick % answered.length];
        if (call === undefined) return;
        await expect(brain.post(this.#key, answerTo(call, true))).rejects.toThrow(/no tool use/);
        return;
      }
      case "message":
        this.messages += 1;
        await brain.send(this.#key, "Another message.");
        return;
      case "interrupt":
        this.interrupts += 1;
        await brain.post(this.#key, { type: "user.interrupt" });
    }
  }

  /** Goes on until nothing waits any more. */
  async finish(): Promise<readonly LogEvent[]> {
    for (let round = 0; round < 40; round++) {
      await this.#brain.run();
      const log = await this.#brain.log(this.#key);
      const waiting = callsOf(log).filter(isWaiting).toReversed();
      if (waiting.length === 0) return log;
      const [first, ...rest] = waiting;
      const some = round % 2 === 0 || first === undefined ? rest : [first];
      const answers = (some.length > 0 ? some : waiting).map((call, i) =>
        answerTo(call, i % 2 > 0),
      );
      await this.#brain.post(this.#key, ...answers);
    }
    throw new Error("the session does not come to rest");
  }
}

test("any calls, answered in any order and split, over any deaths: each runs only with its own allow, once", {
  timeout: 240_000,
}, async () => {
  await using brain = await createBrainWorld({
    script: SCRIPT,
    offered: TOOLS,
    tools: { "*": ({ name }) => `${name} ran` },
  });
  let hasAsked = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...TOOLS), { minLength: 1, maxLength: 7 }),
      commands,
      async (tools, steps) => {
        const key = await brain.newSession();
        const client = new Client(brain, key);
        await brain.send(key, JSON.stringify(tools));
        for (const step of steps) await client.do(step);
        const log = await client.finish();

        expect(brokenLogRules(log)).toEqual([]);
        expect(wrongStops(log)).toEqual([]);
        const stop = log.findLast(({ type }) => type === "session.status_idle");
        expect(stop?.public).toMatchObject({ stop_reason: { type: "end_turn" } });
        expect(await brain.store.events.getInbox(key)).toEqual([]);
        expect(log.filter(({ type }) => type === "user.message")).toHaveLength(client.messages);

        const calls = callsOf(log);
        const allowed = calls
          .filter((call) => call.permission === "allow" || call.said === "allow")
          .map(({ id }) => id);
        const ids = new Set(calls.map(({ id }) => id));
        const ran = brain.hands.executions
          .map(({ callId }) => callId)
          .filter((callId) => ids.has(callId));
        expect(new Set(ran).size).toBe(ran.length);
        expect(allowed).toEqual(expect.arrayContaining(ran));
        if (client.interrupts === 0) {
          expect(ran.toSorted()).toEqual(allowed.toSorted());
          expect(calls).toHaveLength(tools.length);
        }
        if (calls.some(({ said }) => said !== undefined)) hasAsked += 1;
      },
    ),
    { numRuns: 60 },
  );
  expect(hasAsked).toBeGreaterThan(10);
});
