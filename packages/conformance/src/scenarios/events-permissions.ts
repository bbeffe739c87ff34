import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { accepted, assertHas, assertRefused } from "../support/expect.ts";
import { newAgent, newSession } from "../support/fixtures.ts";
import { send, sendText } from "../support/sending.ts";
import { script } from "../support/turns.ts";
import { eventsOf, onlyOf, Watch } from "../support/watch.ts";
import type { Target } from "../target.ts";

const DEFERRED_ASK =
  "confirmations are not built yet: a session whose tools are under always_ask answers 501";
const DEFERRED_AUTO = "the auto policy is not built yet: a session with it answers 501";
const ECHO = script(`
- { tool: bash, input: { command: "echo it ran" } }
- say: "{{result | trim}}"
`);

/** Calls that wait for a yes, or are judged. */
export const eventsPermissions: readonly Scenario[] = [
  scenario(
    "a call under always_ask waits for its confirmation, and is run once it is allowed",
    {
      verifies: ["events.agent.always-ask", "events.agent.ask-allowed"],
      rows: [58],
      needs: ["scripted-model"],
      deferred: DEFERRED_ASK,
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
      deferred: DEFERRED_ASK,
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
    "under auto each call is judged, and what is denied is not run",
    {
      verifies: ["events.agent.auto", "events.agent.auto-reasons"],
      rows: [60],
      needs: ["scripted-model"],
      deferred: DEFERRED_AUTO,
    },
    async (t) => {
      const { watch, call } = await asked(t, "auto");
      const { evaluation } = call;
      assert(evaluation?.type === "auto", "evaluation is not of type auto");
      const judged = evaluation.evaluated_permission;
      assert.equal(judged.type, call.evaluated_permission);
      if (judged.type !== "allow") assert(judged.reason_code.length > 0);
      if (judged.type !== "ask") {
        const result = await watch.untilType("agent.tool_result");
        assert.equal(result.is_error, judged.type === "deny");
      }
      await watch.close();
    },
  ),
];

/** The first call of an agent whose tools are all under the policy. */
async function asked(t: Target, policy: "always_ask" | "auto") {
  const default_config = { permission_policy: { type: policy } };
  const agent = await newAgent(t, { tools: [{ type: "agent_toolset_20260401", default_config }] });
  const { id } = await newSession(t, { agent: agent.id });
  const watch = await Watch.open(t, id);
  await sendText(t, id, ECHO);
  const call = await watch.untilType("agent.tool_use");
  if (policy === "always_ask") {
    const { stop_reason } = onlyOf(await watch.turn(), "session.status_idle");
    assert.deepEqual(stop_reason, { type: "requires_action", event_ids: [call.id] });
  }
  return { id, watch, call };
}

function confirmation(tool_use_id: string, result: "allow" | "deny") {
  return { type: "user.tool_confirmation" as const, tool_use_id, result };
}
