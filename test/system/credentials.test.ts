import { readFileSync } from "node:fs";
import { join } from "node:path";
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

test("a token that is exchanged while the server dies is stored by the next", async () => {
  const mcp = await openMcp();
  const validate = await credentialFor(mcp);
  const asked = holdExchange(mcp);
  const failed = expect(validate()).rejects.toThrow();
  const answer = await asked;
  await world().kill();
  await failed;
  // The hands have it, and nobody to give it to.
  answer({ access_token: "second-access-canary", refresh_token: "second-refresh-canary" });
  mcp.override = undefined;
  await world().start();
  await until("the new token", async () => {
    const { status, refresh } = await validate();
    return (status === "valid" && refresh === null) || undefined;
  });
  expect(mcp.seen.filter(({ path }) => path === "/token")).toHaveLength(1);
});

test("a token that was lost with the hands between its exchange and the store is told as refused", async () => {
  const mcp = await openMcp();
  const validate = await credentialFor(mcp);
  const asked = holdExchange(mcp);
  const failed = expect(validate()).rejects.toMatchObject({ status: 529 });
  await asked;
  // Exchanged, and the answer never arrives: what nobody can prevent.
  const { pid } = JSON.parse(readFileSync(join(world().data, "hands.json"), "utf8"));
  process.kill(pid, "SIGKILL");
  await failed;
  mcp.override = undefined;
  expect(await validate()).toMatchObject({
    status: "invalid",
    refresh: { status: "failed", http_response: { status_code: 400 } },
  });
  // Once it is refused for good, it is marked; asking for a validation is asking to try it again.
  expect(await validate()).toMatchObject({ status: "invalid", refresh: { status: "failed" } });
});

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

/** Takes the refresh token, and answers when and what the test says. */
function holdExchange(mcp: McpServer): Promise<(tokens: Tokens) => void> {
  const { promise, resolve } = Promise.withResolvers<(tokens: Tokens) => void>();
  mcp.override = ({ path }, response) => {
    if (path !== "/token") return false;
    mcp.refreshTokens.delete(REFRESH);
    resolve((tokens) => {
      mcp.accessTokens.add(tokens.access_token);
      const body = JSON.stringify({ ...tokens, token_type: "Bearer" });
      response.writeHead(200, { "content-type": "application/json" }).end(body);
    });
    return true;
  };
  return promise;
}

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
