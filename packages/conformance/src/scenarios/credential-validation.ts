import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { assertHas, assertTime, refused } from "../support/expect.ts";
import { openMcpServer } from "../support/mcp-server.ts";
import { CANARY, credentialWith, newSecret, newVault, oauth, refresh } from "../support/vaults.ts";
import type { Target } from "../target.ts";

const rows = [103];
const needs = ["loopback"] as const;

/** Validating OAuth credentials against a server on the machine that the scenarios run on. */
export const credentialValidation: readonly Scenario[] = [
  scenario(
    "a token that its server takes is valid",
    { verifies: ["credentials.validate.object", "credentials.validate.valid"], rows, needs },
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
      needs,
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
    { verifies: ["credentials.validate.unknown"], rows, needs },
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
    { verifies: ["credentials.validate.refreshed"], rows, needs },
    async (t) => {
      await using server = await openMcpServer(newSecret(t));
      server.refreshed = server.token;
      const { made, validation } = await validated(t, {
        mcp_server_url: server.url,
        refresh: refresh(t, { token_endpoint: server.tokenEndpoint }),
      });
      assertHas(validation, { has_refresh_token: true, refresh: { status: "succeeded" } });
      assert.notEqual(validation.status, "invalid");
      // The new token is stored: nothing has to be refreshed the next time.
      server.refreshed = undefined;
      const again = await validate(t, made);
      assertHas(again, { status: "valid", refresh: null });
    },
  ),

  scenario(
    "a refusal that may pass, and a redirect, prove nothing",
    { verifies: ["credentials.validate.undecided", "credentials.validate.redirect"], rows, needs },
    async (t) => {
      await using server = await openMcpServer(newSecret(t));
      await using other = await openMcpServer(server.token);
      const statusWith = async (status: number) => {
        server.status = status;
        server.location = other.url;
        const { validation } = await validated(t, {
          access_token: server.token,
          mcp_server_url: server.url,
        });
        assertHas(validation.mcp_probe, { http_response: { status_code: status } });
        return validation.status;
      };
      for (const status of [500, 503, 429, 307]) assert.equal(await statusWith(status), "unknown");
      assert.equal(other.requests, 0);
    },
  ),

  scenario(
    "only an OAuth credential that is not archived is validated",
    { verifies: ["credentials.validate.type", "credentials.validate.archived"], rows },
    async (t) => {
      const vault = await newVault(t);
      const { id, vault_id } = await credentialWith(t, vault);
      const { credentials } = t.client.beta.vaults;
      const options = { status: 400, says: /static_bearer/ };
      await refused(credentials.mcpOAuthValidate(id, { vault_id }), options);
      const archived = await credentialWith(t, vault, { auth: oauth(t) });
      await credentials.archive(archived.id, { vault_id });
      await refused(validate(t, archived), { status: 400, says: /archived/ });
      await refused(validate(t, { id: "vcrd_nobody", vault_id }), { status: 404 });
    },
  ),

  scenario(
    "a refresh that is refused leaves the token invalid",
    { verifies: ["credentials.validate.refresh-failed"], rows, needs },
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
  return { made, validation: await validate(t, made) };
}

function validate(t: Target, { id, vault_id }: { id: string; vault_id: string }) {
  return t.client.beta.vaults.credentials.mcpOAuthValidate(id, { vault_id });
}
