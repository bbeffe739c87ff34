import { type McpServer, startMcpServer } from "@drover/testing";
import { expect, onTestFinished, test } from "vitest";
import { until } from "./support/until.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld({ DROVER_EGRESS_ALLOW: "127.0.0.1" });

const REFRESH = "first-refresh-canary";

test("a credential is refreshed and valid, and no secret is logged", async () => {
  const mcp = await openMcp();
  const validate = await credentialFor(mcp);
  expect(await validate()).toMatchObject({ status: "valid", refresh: { status: "succeeded" } });
  expect(await validate()).toMatchObject({ status: "valid", refresh: null });
  expect(world().log).not.toContain("canary");
});

test("a server that dies while a token is exchanged goes on with what it had", async () => {
  const mcp = await openMcp();
  const validate = await credentialFor(mcp);
  let isAsked = false;
  mcp.override = ({ path }) => {
    isAsked ||= path === "/token";
    return path === "/token";
  };
  const lost = validate();
  const failed = expect(lost).rejects.toThrow();
  await until("the exchange", async () => isAsked || undefined);
  await world().kill();
  await failed;
  mcp.override = undefined;
  await world().start();
  expect(await validate()).toMatchObject({ status: "valid", refresh: { status: "succeeded" } });
});

test("a token that was lost with the server between its exchange and the store is told as refused", async () => {
  const mcp = await openMcp();
  const validate = await credentialFor(mcp);
  // Exchanged, and the answer never arrives: what nobody can prevent.
  mcp.override = ({ path }) => {
    if (path !== "/token") return false;
    mcp.refreshTokens.delete(REFRESH);
    void world().kill();
    return true;
  };
  await expect(validate()).rejects.toThrow();
  mcp.override = undefined;
  await world().start();
  expect(await validate()).toMatchObject({
    status: "invalid",
    refresh: { status: "failed", http_response: { status_code: 400 } },
  });
});

async function openMcp(): Promise<McpServer> {
  const mcp = await startMcpServer({ refreshTokens: [REFRESH] });
  onTestFinished(async () => await mcp[Symbol.asyncDispose]());
  return mcp;
}

/** A function that validates a new credential, whose access token nobody takes. */
async function credentialFor(mcp: McpServer) {
  const vault = await world().client.beta.vaults.create({ display_name: "team" });
  const { id } = await world().client.beta.vaults.credentials.create(vault.id, {
    auth: {
      type: "mcp_oauth",
      access_token: "old-access-canary",
      mcp_server_url: mcp.url,
      refresh: {
        client_id: "client",
        refresh_token: REFRESH,
        token_endpoint: mcp.tokenEndpoint,
        token_endpoint_auth: { type: "client_secret_post", client_secret: "client-canary" },
      },
    },
  });
  return () => world().client.beta.vaults.credentials.mcpOAuthValidate(id, { vault_id: vault.id });
}
