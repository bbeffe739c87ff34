import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { agentWith, custom, TOOLSET } from "../support/agents.ts";
import { accepted, assertHas, assertRefused } from "../support/expect.ts";
import { newSession } from "../support/fixtures.ts";
import { send, sendText } from "../support/sending.ts";
import { message, script } from "../support/turns.ts";
import { eventsOf, onlyOf, Watch } from "../support/watch.ts";
import type { Target } from "../target.ts";

const ECHO = script(`
- { tool: bash, input: { command: "echo it ran" } }
- say: "{{result | trim}}"
`);
const BOTH = script(`
- parallel:
    - { tool: bash, input: { command: "echo it ran" } }
    - { tool: get_weather, input: {} }
- say: "{{result.1 | trim}}"
`);

/** The same call, and what the scripted model says when it is asked to judge it. */
function judged(verdict: string): string {
  return script(`
- { tool: bash, input: { command: "echo it ran" }, judge: ${verdict} }
- say: "{{result | trim}}"
`);
}

/** Calls that wait for a yes, or are judged. */
export const eventsPermissions: readonly Scenario[] = [
  scenario(
    "a call under always_ask waits for its confirmation, and is run once it is allowed",
    {
      verifies: ["events.agent.always-ask", "events.agent.ask-allowed"],
      rows: [58],
      needs: ["scripted-model"],
    },
    async (t) => {
      const { id, watch, call } = await asked(t, "always_ask");
      assertHas(call, { evaluated_permission: "ask", evaluation: { type: "always_ask" } });
      assert.deepEqual(eventsOf(watch.seen, "agent.tool_result"), []);
      const [echo] = accepted(await send(t, id, [confirmation(call.id, "allow")])).data;
      assertHas(echo, { type: "user.tool_confirmation", tool_use_id: call.id, result: "allow" });
      const result = await watch.untilType("agent.tool_result");
      assertHas(result, { tool_use_id: call.id, is_error: false });
      assert.match(JSON.stringify(await watch.untilType("agent.message")), /it ran/);
      assertRefused(await send(t, id, [confirmation(call.id, "deny")]), { status: 400 });
      await watch.close();
    },
  ),
  scenario(
    "a call that is denied is not run, and the model is told why",
    {
      verifies: ["events.agent.ask-denied"],
      rows: [58],
      needs: ["scripted-model"],
    },
    async (t) => {
      const { id, watch, call } = await asked(t, "always_ask");
      const reason = "Not on a Sunday.";
      const allowed = { ...confirmation(call.id, "allow"), deny_message: reason };
      assertRefused(await send(t, id, [allowed]), { status: 400, says: /deny_message/ });
      const denied = { ...confirmation(call.id, "deny"), deny_message: reason };
      const [echo] = accepted(await send(t, id, [denied])).data;
      assert.equal(echo.deny_message, reason);
      const result = await watch.untilType("agent.tool_result");
      assertHas(result, { tool_use_id: call.id, is_error: true });
      assert.match(JSON.stringify(result.content), /Not on a Sunday\./);
      const said = JSON.stringify(await watch.untilType("agent.message"));
      assert.match(said, /Not on a Sunday\./);
      assert.doesNotMatch(said, /it ran/);
      await watch.close();
    },
  ),
  scenario(
    "under auto each call is judged, and runs, is refused or waits accordingly",
    {
      verifies: [
        "events.agent.auto",
        "events.agent.auto-reasons",
        "events.agent.auto-allowed",
        "events.agent.auto-indeterminate",
      ],
      rows: [60],
      needs: ["scripted-model"],
    },
    async (t) => {
      for (const verdict of ["allow", "deny", "ask"] as const) {
        const { id, watch, call } = await asked(t, "auto", judged(verdict));
        assert.equal(call.evaluated_permission, verdict);
        const { evaluation } = call;
        assert(evaluation?.type === "auto", "evaluation is not of type auto");
        const { evaluated_permission: said } = evaluation;
        assert.equal(said.type, verdict);
        if (said.type !== "allow") assert(said.reason_code.length > 0);
        if (said.type === "ask") {
          assert.equal(said.reason_code, "indeterminate");
          const { stop_reason } = onlyOf(await watch.turn(), "session.status_idle");
          assert.deepEqual(stop_reason, { type: "requires_action", event_ids: [call.id] });
          await t.client.beta.sessions.events.send(id, {
            events: [confirmation(call.id, "allow")],
          });
        }
        const result = await watch.untilType("agent.tool_result");
        assertHas(result, { tool_use_id: call.id, is_error: verdict === "deny" });
        const says = JSON.stringify(await watch.untilType("agent.message"));
        assert.equal(/it ran/.test(says), verdict !== "deny");
        await watch.close();
      }
    },
  ),
  scenario(
    "answers count together or not at all, each once and for its own kind of call",
    {
      verifies: ["events.answers.whole", "events.answers.kinds"],
      rows: [57, 58],
      needs: ["scripted-model"],
    },
    async (t) => {
      const weather = { ...custom("get_weather"), description: "Tells the weather." };
      const { id, watch, call } = await asked(t, "always_ask", BOTH, [weather]);
      const own = await watch.untilType("agent.custom_tool_use");
      const result = { type: "user.custom_tool_result", custom_tool_use_id: own.id };
      const good = [confirmation(call.id, "allow"), result];
      for (const bad of [
        [...good, confirmation("sevt_nobody", "allow")],
        [...good, confirmation(call.id, "allow")],
        [...good, result],
        [confirmation(own.id, "allow")],
        [{ ...result, custom_tool_use_id: call.id }],
      ]) {
        assertRefused(await send(t, id, bad), { status: 400, says: /tool_use_id/ });
      }
      assert.deepEqual(eventsOf(watch.seen, "agent.tool_result"), []);
      const { data } = accepted(await send(t, id, good));
      assert.equal(data.length, 2);
      for (const echo of data) assert.equal(typeof echo.processed_at, "string");
      await watch.untilType("agent.message");
      await watch.close();
    },
  ),
  scenario(
    "a message waits while calls wait, and is taken up with their answers",
    { verifies: ["events.message.blocked"], rows: [55], needs: ["scripted-model"] },
    async (t) => {
      const { id, watch, call } = await asked(t, "always_ask");
      const [echo] = accepted(await send(t, id, [message("And then?")])).data;
      assert.equal(echo.processed_at, null);
      assert.equal((await t.client.beta.sessions.retrieve(id)).status, "idle");
      accepted(await send(t, id, [confirmation(call.id, "allow")]));
      const taken = await watch.until((event) => {
        return event.type === "user.message" && event.id === echo.id && event.processed_at != null;
      });
      const result = watch.seen.findIndex(({ type }) => type === "agent.tool_result");
      assert(result >= 0 && result < watch.seen.indexOf(taken), "it was taken up too early");
      await watch.close();
    },
  ),
];

/** The first call of an agent whose tools are all under the policy. */
async function asked(
  t: Target,
  policy: "always_ask" | "auto",
  steps = ECHO,
  more: readonly object[] = [],
) {
  const default_config = { permission_policy: { type: policy } };
  const tools = [{ type: TOOLSET, default_config }, ...more];
  const agent = await agentWith(t, { tools });
  const { id } = await newSession(t, { agent: agent.id });
  const watch = await Watch.open(t, id);
  await sendText(t, id, steps);
  const call = await watch.untilType("agent.tool_use");
  if (policy === "always_ask" && more.length === 0) {
    const { stop_reason } = onlyOf(await watch.turn(), "session.status_idle");
    assert.deepEqual(stop_reason, { type: "requires_action", event_ids: [call.id] });
  }
  return { id, watch, call };
}

function confirmation(tool_use_id: string, result: "allow" | "deny") {
  return { type: "user.tool_confirmation" as const, tool_use_id, result };
}
