import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { assertHas } from "../support/expect.ts";
import { newAgent, newSession } from "../support/fixtures.ts";
import { openMcpServer } from "../support/mcp-server.ts";
import { send, sendText } from "../support/sending.ts";
import { runTurn, script } from "../support/turns.ts";
import { bearer, CANARY, credentialWith, newSecret, newVault } from "../support/vaults.ts";
import { eventsOf, onlyOf, Watch } from "../support/watch.ts";
import type { Target } from "../target.ts";

/** A host that no resolver knows. */
const NOWHERE = "https://mcp.nowhere.invalid/mcp";
const CALL = script(
  '- { tool: mcp__server__repeat, input: { text: hello } }\n- say: "that was it"',
);
const ALLOWED = { permission_policy: { type: "always_allow" } } as const;

const rows = [62];
const needs = ["scripted-model", "loopback"] as const;

/** The tools of MCP servers in sessions. */
export const mcpTools: readonly Scenario[] = [
  scenario(
    "an MCP server that cannot be reached is told, and the session goes on without it",
    { verifies: ["events.error.mcp"], rows, needs: ["scripted-model"] },
    async (t) => {
      const session = await sessionWith(t, NOWHERE);
      const turn = await runTurn(t, session.id, script("- say: I do without"));
      const { error } = onlyOf(turn, "session.error");
      assertHas(error, { type: "mcp_connection_failed_error", mcp_server_name: "server" });
      assertHas(error.retry_status, { type: "retrying" });
      assert.equal(onlyOf(turn, "agent.message").content.length, 1);
      assertHas(turn.at(-1) ?? {}, { stop_reason: { type: "end_turn" } });
    },
  ),

  scenario(
    "an MCP server that wants a token which the session has not is told, and the session goes on",
    { verifies: ["events.error.mcp"], rows, needs },
    async (t) => {
      await using server = await openMcpServer(newSecret(t));
      const session = await sessionWith(t, server.url);
      const turn = await runTurn(t, session.id, script("- say: I do without"));
      const { error } = onlyOf(turn, "session.error");
      assertHas(error, { type: "mcp_authentication_failed_error", mcp_server_name: "server" });
      assertHas(turn.at(-1) ?? {}, { stop_reason: { type: "end_turn" } });
    },
  ),

  scenario(
    "a tool of an MCP server is called with the token of the session's vault",
    { verifies: ["events.agent.mcp"], rows, needs },
    async (t) => {
      const secret = newSecret(t);
      await using server = await openMcpServer(secret);
      const vault = await newVault(t);
      const auth = bearer(t, { token: secret, mcp_server_url: server.url });
      await credentialWith(t, vault, { auth });
      const session = await sessionWith(t, server.url, { default_config: ALLOWED }, [vault.id]);
      const turn = await runTurn(t, session.id, CALL);
      const use = onlyOf(turn, "agent.mcp_tool_use");
      assertHas(use, {
        mcp_server_name: "server",
        name: "repeat",
        input: { text: "hello" },
        evaluated_permission: "allow",
      });
      const result = onlyOf(turn, "agent.mcp_tool_result");
      assertHas(result, { mcp_tool_use_id: use.id, is_error: false });
      assertHas(result.content?.[0] ?? {}, { type: "text", text: "You said hello." });
      assert.deepEqual(eventsOf(turn, "session.error"), []);
      assert.ok(!JSON.stringify(turn).includes(CANARY), "the token is in the session's log");
    },
  ),

  scenario(
    "a call of an MCP tool waits for its user unless the agent says otherwise",
    { verifies: ["events.agent.mcp", "agents.mcp-toolset.defaults"], rows, needs },
    async (t) => {
      const secret = newSecret(t);
      await using server = await openMcpServer(secret);
      const vault = await newVault(t);
      const auth = bearer(t, { token: secret, mcp_server_url: server.url });
      await credentialWith(t, vault, { auth });
      const session = await sessionWith(t, server.url, {}, [vault.id]);
      const watch = await Watch.open(t, session.id);
      await sendText(t, session.id, CALL);
      const use = await watch.untilType("agent.mcp_tool_use");
      assertHas(use, { evaluated_permission: "ask" });
      const idle = await watch.untilType("session.status_idle");
      assertHas(idle.stop_reason, { type: "requires_action", event_ids: [use.id] });
      const allowed = { type: "user.tool_confirmation", tool_use_id: use.id, result: "allow" };
      await send(t, session.id, [allowed]);
      assertHas(await watch.untilType("agent.mcp_tool_result"), { mcp_tool_use_id: use.id });
      await watch.close();
    },
  ),
];

async function sessionWith(
  t: Target,
  url: string,
  toolset: { default_config?: typeof ALLOWED } = {},
  vault_ids: string[] = [],
) {
  const agent = await newAgent(t, {
    mcp_servers: [{ type: "url", name: "server", url }],
    tools: [{ type: "mcp_toolset", mcp_server_name: "server", ...toolset }],
  });
  return await newSession(t, { agent: agent.id, vault_ids });
}
