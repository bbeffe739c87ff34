import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { accepted, assertRefused } from "../support/expect.ts";
import { newSession, sharedAgent, sharedEnvironment } from "../support/fixtures.ts";
import { send } from "../support/sending.ts";
import { message, runTurn, script } from "../support/turns.ts";
import { onlyOf } from "../support/watch.ts";
import type { Target } from "../target.ts";

const SYSTEM = { type: "system.message", content: [{ type: "text", text: "Be brief." }] };

/** What is refused of confirmations, results, outcomes and system messages. */
export const eventsAnswers: readonly Scenario[] = [
  scenario(
    "a deny_message goes with deny only",
    { verifies: ["events.confirmation.deny-message"], rows: [59] },
    async (t) => {
      const base = { type: "user.tool_confirmation", tool_use_id: "sevt_x" };
      await refuses(t, { ...base, result: "allow", deny_message: "no" }, /deny_message/);
      // Right in itself: what is refused is that no such call waits.
      for (const deny_message of ["no", null]) {
        await refuses(t, { ...base, result: "deny", deny_message }, /tool_use_id/);
      }
      await refuses(t, { ...base, result: "allow", deny_message: null }, /tool_use_id/);
    },
  ),
  scenario(
    "confirmations and results name the call that they are for",
    {
      verifies: [
        "events.confirmation.fields",
        "events.confirmation.unknown-call",
        "events.custom-result.fields",
        "events.custom-result.unknown-call",
      ],
    },
    async (t) => {
      const confirmation = { type: "user.tool_confirmation", tool_use_id: "sevt_x" };
      await refuses(t, confirmation, /result/);
      await refuses(t, { ...confirmation, result: "maybe" }, /result/);
      await refuses(t, { ...confirmation, result: "allow" }, /tool_use_id.*sevt_x/);
      await refuses(t, { type: "user.tool_confirmation", result: "allow" }, /tool_use_id/);
      const result = { type: "user.custom_tool_result", custom_tool_use_id: "sevt_x" };
      await refuses(t, { type: "user.custom_tool_result" }, /custom_tool_use_id/);
      await refuses(t, { ...result, is_error: "yes" }, /is_error/);
      await refuses(t, { ...result, content: "text" }, /content/);
      for (const more of [{}, { is_error: null }, { content: [], is_error: true }]) {
        await refuses(t, { ...result, ...more }, /custom_tool_use_id.*sevt_x/);
      }
    },
  ),
  scenario(
    "a call that has its answer, and the model's own id of it, cannot be answered",
    { verifies: ["events.answers.event-ids", "wrong.7.stale-result"] },
    async (t) => {
      const session = await newSession(t);
      const text = script("- tool: bash\n  input: { command: echo hi }\n- say: done");
      const turn = await runTurn(t, session.id, text);
      const call = onlyOf(turn, "agent.tool_use");
      assert.doesNotMatch(JSON.stringify(turn), /toolu_/);
      for (const id of [call.id, "toolu_01"]) {
        for (const event of [
          { type: "user.tool_confirmation", tool_use_id: id, result: "allow" },
          { type: "user.custom_tool_result", custom_tool_use_id: id },
        ]) {
          assertRefused(await send(t, session.id, [event]), { status: 400 });
        }
      }
    },
  ),
  scenario(
    "a user.tool_result is for self-hosted environments",
    { verifies: ["events.tool-result.self-hosted-only", "wrong.23.tool-result"] },
    async (t) => {
      await refuses(t, { type: "user.tool_result", tool_use_id: "sevt_x" }, /self-hosted/);
      await refuses(t, { type: "user.tool_result" }, /tool_use_id/);
    },
  ),
  scenario(
    "clients send no session_thread_id with an answer",
    { verifies: ["events.answers.routed"] },
    async (t) => {
      const extra = { session_thread_id: "sthr_x", tool_use_id: "sevt_x" };
      const answer = await send(t, (await newSession(t)).id, [
        { type: "user.tool_confirmation", result: "allow", ...extra },
      ]);
      assertRefused(answer, { status: 400, says: /tool_use_id/ });
    },
  ),
  scenario(
    "an outcome without its parts, or beyond their limits, is refused",
    {
      verifies: [
        "events.outcome.description",
        "events.outcome.rubric-length",
        "events.outcome.iterations",
      ],
    },
    async (t) => {
      const rubric = { type: "text", content: "It says hello." };
      const outcome = { type: "user.define_outcome", description: "Say hello.", rubric };
      await refuses(t, { ...outcome, description: undefined }, /description/);
      await refuses(t, { ...outcome, rubric: undefined }, /rubric/);
      await refuses(t, { ...outcome, rubric: { type: "text" } }, /rubric/);
      await refuses(t, { ...outcome, rubric: { type: "file" } }, /rubric/);
      await refuses(t, { ...outcome, rubric: { type: "url", url: "x" } }, /rubric/);
      const long = { type: "text", content: "x".repeat(262_145) };
      await refuses(t, { ...outcome, rubric: long }, /rubric\.content/);
      for (const max_iterations of [0, 21, 1.5, "3", -1]) {
        await refuses(t, { ...outcome, max_iterations }, /max_iterations/);
      }
    },
  ),
  scenario(
    "a request has one system.message, its last event",
    { verifies: ["events.system.once", "events.system.final"], rows: [63] },
    async (t) => {
      await refusesAll(t, [message("x"), SYSTEM, message("y")], /events\.1.*last/);
      await refusesAll(t, [message("x"), SYSTEM, { type: "user.interrupt" }], /events\.1.*last/);
      await refusesAll(t, [message("x"), SYSTEM, SYSTEM], /events\.1|events\.2/);
      await refusesAll(t, [message("x"), SYSTEM, message("y"), SYSTEM], /events\.1|events\.3/);
    },
  ),
  scenario(
    "a system.message comes directly after what it accompanies",
    { verifies: ["events.system.companion"], rows: [63] },
    async (t) => {
      await refusesAll(t, [SYSTEM], /events\.0/);
      await refusesAll(t, [{ type: "user.interrupt" }, SYSTEM], /events\.1/);
      await refusesAll(t, [message("x"), { type: "user.interrupt" }, SYSTEM], /events\.2/);
    },
  ),
  scenario(
    "a system.message has from one to a thousand blocks",
    { verifies: ["events.system.blocks"], rows: [63] },
    async (t) => {
      const of = (length: number) => Array.from({ length }, () => SYSTEM.content[0]);
      for (const content of [of(0), of(1_001), undefined]) {
        await refusesAll(t, [message("x"), { ...SYSTEM, content }], /events\.1\.content/);
      }
    },
  ),
  scenario(
    "a system.message is not among a session's initial events",
    { verifies: ["wrong.22.system-message"], rows: [63] },
    async (t) => {
      const create = async (initial_events: readonly unknown[]) => {
        const agent = (await sharedAgent(t)).id;
        const environment_id = (await sharedEnvironment(t)).id;
        return await t.request("POST", "/v1/sessions", {
          body: { agent, environment_id, initial_events },
        });
      };
      const hello = message(script("- say: hello"));
      assertRefused(await create([hello, SYSTEM]), { status: 400, says: /initial_events\.1/ });
      accepted(await create([hello]));
    },
  ),
];

async function refuses(t: Target, event: object, says: RegExp): Promise<void> {
  await refusesAll(t, [event], says);
}

async function refusesAll(t: Target, events: readonly unknown[], says: RegExp): Promise<void> {
  const session = await t.shared("session for refused answers", () => newSession(t));
  assertRefused(await send(t, session.id, events), {
    status: 400,
    type: "invalid_request_error",
    says,
  });
}
