import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { newSession } from "../support/fixtures.ts";
import { runTurn, script } from "../support/turns.ts";
import { CANARY, credentialWith, newVault, variable } from "../support/vaults.ts";

/** What becomes of credentials in a session. */
export const credentialUse: readonly Scenario[] = [
  scenario(
    "a sandbox has a placeholder where the variable's secret would be",
    {
      verifies: ["credentials.placeholder"],
      rows: [104],
      needs: ["scripted-model"],
    },
    async (t) => {
      const vault = await newVault(t);
      const auth = variable(t, { secret_name: "CONFORMANCE_TOKEN" });
      await credentialWith(t, vault, { auth });
      const session = await newSession(t, { vault_ids: [vault.id] });
      const command = '{ command: "printenv CONFORMANCE_TOKEN" }';
      const seen = await runTurn(t, session.id, script(`- { tool: bash, input: ${command} }`));
      const result = seen.find(({ type }) => type === "agent.tool_result");
      assert.ok(result?.type === "agent.tool_result");
      assert.ok(result.is_error !== true, "the variable is not there");
      assert.ok(!JSON.stringify(seen).includes(CANARY), "the secret is in the sandbox");
    },
  ),
];
