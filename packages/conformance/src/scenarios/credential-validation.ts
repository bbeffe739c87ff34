import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { assertHas, assertTime } from "../support/expect.ts";
import { openMcpServer } from "../support/mcp-server.ts";
import { CANARY, credentialWith, newSecret, newVault, oauth, refresh } from "../support/vaults.ts";
import type { Target } from "../target.ts";

const deferred = "credentials are not validated yet: mcp_oauth_validate answers 501";
const rows = [103];

/** Validating OAuth credentials against a server on the machine that the scenarios run on. */
export const credentialValidation: readonly Scenario[] = [
  scenario(
    "a token that its server takes is valid",
    { verifies: ["credentials.validate.object", "credentials.validate.valid"], rows, deferred },
    async (t) => {
      await using server = await openMcpServer(newSecret(t));
      const { made, validation } = await validated(t, {
        access_token: server.token,
        mcp_server_url: server.url,
      });
      assertTime(validation.validated_at);
      assertHas(validation, {
        type: "vault_credential_validation",
        credential_id: made.id,
        vault_id: made.vault_id,
        has_refresh_token: false,
        status: "valid",
        mcp_probe: null,
        refresh: null,
      });
    },
  ),

  scenario(
    "a token that its server refuses is invalid",
    {
      verifies: ["credentials.validate.invalid", "credentials.validate.no-refresh"],
      rows,
      deferred,
    },
    async (t) => {
      await using server = await openMcpServer(newSecret(t));
      const { validation } = await validated(t, { mcp_server_url: server.url });
      assertHas(validation, { status: "invalid", has_refresh_token: false });
      assertHas(validation.refresh, { status: "no_refresh_token", http_response: null });
      assertHas(validation.mcp_probe, {
        method: "initialize",
        http_response: { status_code: 401, content_type: "application/json" },
      });
    },
  ),

  scenario(
    "a token whose server cannot be reached is unknown",
    { verifies: ["credentials.validate.unknown"], rows, deferred },
    async (t) => {
      const server = await openMcpServer(newSecret(t));
      await server[Symbol.asyncDispose]();
      const { validation } = await validated(t, { mcp_server_url: server.url });
      assertHas(validation, { status: "unknown", refresh: null });
      assertHas(validation.mcp_probe, { method: "initialize", http_response: null });
    },
  ),

  scenario(
    "a refused token is refreshed",
    { verifies: ["credentials.validate.refreshed"], rows, deferred },
    async (t) => {
      await using server = await openMcpServer(newSecret(t));
      server.refreshed = server.token;
      const { validation } = await validated(t, {
        mcp_server_url: server.url,
        refresh: refresh(t, { token_endpoint: server.tokenEndpoint }),
      });
      assertHas(validation, { has_refresh_token: true, refresh: { status: "succeeded" } });
      assert.notEqual(validation.status, "invalid");
    },
  ),

  scenario(
    "a refresh that is refused leaves the token invalid",
    { verifies: ["credentials.validate.refresh-failed"], rows, deferred },
    async (t) => {
      await using server = await openMcpServer(newSecret(t));
      const { validation } = await validated(t, {
        mcp_server_url: server.url,
        refresh: refresh(t, { token_endpoint: server.tokenEndpoint }),
      });
      assertHas(validation, { status: "invalid", has_refresh_token: true });
      assertHas(validation.refresh, { status: "failed", http_response: { status_code: 400 } });
      assert.ok(!JSON.stringify(validation).includes(CANARY));
    },
  ),
];

async function validated(t: Target, fields: object) {
  const made = await credentialWith(t, await newVault(t), { auth: oauth(t, fields) });
  const { vault_id } = made;
  const validation = await t.client.beta.vaults.credentials.mcpOAuthValidate(made.id, { vault_id });
  return { made, validation };
}
